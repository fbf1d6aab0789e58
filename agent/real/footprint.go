package real

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// When pages of the program are given back: soon after the start, which touches
// most of them once, and then what pods that came and went have touched.
const (
	firstTrim = 20 * time.Second
	nextTrims = time.Minute
)

// keepSmall gives back the pages of the program's own file that are mapped and
// were needed at the start alone: this binary is a whole cluster, and an
// agent uses a small part of it. What is needed again is mapped again, from
// the page cache.
func keepSmall(ctx context.Context) {
	timer := time.NewTimer(firstTrim)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if trim() != nil {
			return // the kernel does not tell; nothing is lost
		}
		timer.Reset(nextTrims)
	}
}

// trim drops the mapped pages of parts of the program that are read-only and
// of which no page was changed after it was read (as relocation does).
func trim() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	var from, to uintptr // the part that the following lines are of; 0 when it stays
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			from, to = 0, 0
			if len(fields) == 6 && fields[5] == self && !strings.Contains(fields[1], "w") {
				_, _ = fmt.Sscanf(fields[0], "%x-%x", &from, &to)
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && to > from:
			// It is read from the file again: no content can be lost.
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
	return nil
}
