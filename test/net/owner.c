/*-------------------------------------------------------------------------
 *
 * owner.c
 *	  somebody else's file for tests, preloaded into the server
 *
 * fstat() of a file whose name ends in "/stranger" tells another owner, which
 * only a superuser of the machine could give it.  Other files are as they are.
 *
 * IDENTIFICATION
 *	  booking/test/net/owner.c
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX "/stranger"

typedef int (*Fstat) (int, struct stat *);

/*
 * In place of the C library's function.
 */
int
fstat(int fd, struct stat *info)
{
	Fstat		original = (Fstat) dlsym(RTLD_NEXT, "fstat");
	int			result = original(fd, info);
	char		link[64];
	char		path[4096];
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	if (length >= (ssize_t) strlen(SUFFIX) &&
		memcmp(path + length - strlen(SUFFIX), SUFFIX, strlen(SUFFIX)) == 0)
		info->st_uid = geteuid() + 1;
	return result;
}
