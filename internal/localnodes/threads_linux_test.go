package localnodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReserveThreads checks that blocking system calls use the reserved threads instead of new ones.
func TestReserveThreads(t *testing.T) {
	const blocked = 40
	reserveThreads(2 * blocked)
	before := len(threads(t))
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	returned := make(chan error)
	for range blocked {
		go func() {
			_, err := unix.Read(pipe[0], make([]byte, 1))
			returned <- err
		}()
	}
	for inRead(t, pipe[0]) < blocked {
		time.Sleep(time.Millisecond)
	}
	if after := len(threads(t)); after > before {
		t.Errorf("%d threads while %d system calls block, want at most the %d after ReserveThreads", after, blocked, before)
	}
	if _, err := unix.Write(pipe[1], make([]byte, blocked)); err != nil {
		t.Fatal(err)
	}
	for range blocked {
		if err := <-returned; err != nil {
			t.Error(err)
		}
	}
}

// threads returns the directories in /proc of this process's threads.
func threads(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// inRead returns the number of threads that wait in a read of a file descriptor.
func inRead(t *testing.T, fd int) (n int) {
	t.Helper()
	call := fmt.Sprintf("%d 0x%x ", unix.SYS_READ, fd)
	for _, path := range threads(t) {
		text, err := os.ReadFile(path + "/syscall")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has exited
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(text), call) {
			n++
		}
	}
	return n
}
