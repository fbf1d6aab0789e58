package real

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// giveBackEvery is how often the mapped pages of the program's file are given back. The
// program is a whole cluster; what its start and the start of pods have read of the file is
// most of it, and counts as this process's memory for as long as it is mapped. What
// runs every second is mapped again at once, from the page cache, without a disk.
const giveBackEvery = time.Minute

// GiveBackMapped keeps giving them back until ctx ends, for a process that is an agent and nothing else.
func GiveBackMapped(ctx context.Context) {
	tick := time.NewTicker(giveBackEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if unmapPages() != nil {
			return // a kernel without smaps, say; they stay where they are
		}
	}
}

// unmapPages has the kernel forget which pages of the program's file this process has read.
func unmapPages() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	for _, m := range cleanMappings(f, program) {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

type mapping struct{ start, end uintptr }

// cleanMappings are, of the text of /proc/PID/smaps, those of a file that are not writable and of which no
// page is a copy of the process's own: a copy (relocations of a program that is
// linked to run anywhere) could not be read again.
func cleanMappings(smaps io.Reader, file string) (out []mapping) {
	var now *mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch {
		case strings.Contains(name, "-"):
			m, mode := mapping{}, ""
			now = nil
			if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &m.start, &m.end, &mode); err == nil &&
				strings.HasSuffix(lines.Text(), " "+file) && !strings.Contains(mode, "w") {
				now = &m
			}
		case now != nil && name == "Anonymous":
			if strings.TrimSpace(value) == "0 kB" {
				out = append(out, *now)
			}
			now = nil
		}
	}
	return out
}
