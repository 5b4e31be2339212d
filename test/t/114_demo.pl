# test/t/114_demo.pl
#
# Whoever has seen enough of the demo presses Ctrl-C, and gets his prompt back:
# within a second or two, wherever the story is, and with nothing left behind,
# neither a process nor a file.
#
# The terminal's part is played by a signal to the whole process group.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Cwd 'abs_path';
use File::Temp;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes 'time';

my $top = abs_path("$FindBin::RealBin/../..");

# Start the demo in a process group of its own; its temporary files are in a
# folder whose name is short enough for a socket.
sub start_demo
{
	my ($folder) = @_;

	pipe(my $output, my $its_end) or die "pipe: $!";
	my $pid = fork() // die "fork: $!";
	if ($pid == 0)
	{
		setpgrp(0, 0);

		# a shell cannot trap what was ignored when it began, as in background jobs
		$SIG{INT} = 'DEFAULT';
		local $ENV{TMPDIR} = $folder;
		open(STDIN, '<', '/dev/null') or POSIX::_exit(1);
		open(STDOUT, '>&', $its_end) or POSIX::_exit(1);
		open(STDERR, '>&', $its_end) or POSIX::_exit(1);
		exec("$top/tools/run", 'demo') or POSIX::_exit(1);
	}
	close($its_end);
	return ($pid, $output);
}

# Members of a process group that are still at something.
sub members
{
	my ($group) = @_;
	my @members;

	foreach my $file (glob('/proc/[0-9]*/stat'))
	{
		# whose process may have ended meanwhile
		open(my $handle, '<', $file) or next;
		my $line = readline($handle) // next;
		my ($name, $state, $of) = $line =~ /\((.*)\) (\S) \d+ (\d+) / or next;

		push @members, $name if $of == $group && $state ne 'Z';
	}
	return join(' ', sort @members);
}

my @chapters = (
	'A calendar is attached',
	'The answer is lost after the server has stored the event',
	'Two callers want the room at the same moment',
	'The line is back');

foreach my $chapter (@chapters[ 0 .. size(1, $#chapters) ])
{
	my $folder = File::Temp::tempdir('bdXXXXXX', DIR => '/tmp', CLEANUP => 1);
	my ($pid, $output) = start_demo($folder);
	my $told = '';

	while (defined(my $line = readline($output)))
	{
		$told .= $line;
		last if $line =~ /^\Q$chapter\E/;
	}
	like($told, qr/^\Q$chapter\E/m, $chapter) or diag($told);
	my $begin = time();
	kill('INT', -$pid) or die "kill: $!";
	1 while defined readline($output);
	waitpid($pid, 0);
	my $took = time() - $begin;

	is($? >> 8, 130, 'the demo ends by the signal');
	cmp_ok($took, '<', 1.5, 'soon');
	note(sprintf('seconds: %.1f', $took));
	wait_until('its processes have ended', sub { members($pid) eq '' });
	pass('with all of its processes');
	is_deeply([ glob("$folder/*") ], [], 'and files');
}

done_testing();
