package testprogram

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/pause"
)

// startProcesses starts sleeping processes. It retries failed starts, like a fork bomb.
func (w *worker) startProcesses(ctx context.Context) error {
	path, args, err := sleeperProgram()
	if err != nil {
		return err
	}
	return runPaced(ctx, int64(w.processes), int64(w.processRate), func(due int64) error {
		for ; due > 0; due-- {
			for {
				// The processes exit with their parent, even without a PID namespace.
				attr := &syscall.ProcAttr{Env: os.Environ(), Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
				if _, err := syscall.ForkExec(path, args, attr); err == nil {
					break
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				time.Sleep(time.Millisecond)
			}
		}
		return nil
	})
}

// sleeperProgram returns a program that sleeps: the pause program in a memfd, or this program.
func sleeperProgram() (path string, args []string, err error) {
	program, err := pause.Program()
	if err != nil {
		executable, err := os.Executable()
		return executable, []string{executable, "-after=1000h"}, err
	}
	fd, err := unix.MemfdCreate("sleeper", 0)
	if err != nil {
		return "", nil, fmt.Errorf("creating a memfd: %w", err)
	}
	if _, err := unix.Write(fd, program); err != nil {
		return "", nil, err
	}
	// A file that is open for writing cannot be executed, so open it again for reading.
	path = "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(fd)
	readFD, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return "", nil, err
	}
	_ = unix.Close(fd)
	return "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(readFD), []string{"sleeper"}, nil
}

// burnCPU uses a CPU for w.cpu thousandths of each 10 ms.
func (w *worker) burnCPU(ctx context.Context) error {
	const period = 10 * time.Millisecond
	busy := period * time.Duration(min(w.cpu, 1000)) / 1000
	for ctx.Err() == nil {
		start := time.Now()
		for time.Since(start) < busy {
		}
		time.Sleep(period - busy)
	}
	return ctx.Err()
}

// printLines prints numbered lines.
func (w *worker) printLines(ctx context.Context) error {
	n := 0
	return runPaced(ctx, int64(w.lines), int64(w.lineRate), func(due int64) error {
		for ; due > 0; due-- {
			n++
			line := "line " + strconv.Itoa(n) + " "
			w.printf("%s", line+strings.Repeat("x", max(0, w.lineSize-len(line))))
		}
		return nil
	})
}
