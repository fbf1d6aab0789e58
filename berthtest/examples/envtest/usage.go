package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this process and of its children that have ended.
func cpuTime() (out time.Duration, err error) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			return 0, err
		}
		out += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return out, nil
}

// memory returns the resident memory of a process and its descendants in KiB, and their number, from /proc.
func memory(pid int) (kib, processes int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			if kib, err = strconv.Atoi(fields[1]); err != nil {
				return 0, 0, fmt.Errorf("reading VmRSS of process %d: %w", pid, err)
			}
		}
	}
	processes = 1
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, 0, err
	}
	for _, file := range files {
		children, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, text := range strings.Fields(string(children)) {
			child, err := strconv.Atoi(text)
			if err != nil {
				return 0, 0, fmt.Errorf("reading %s: %w", file, err)
			}
			k, n, err := memory(child)
			if err != nil {
				return 0, 0, err
			}
			kib, processes = kib+k, processes+n
		}
	}
	return kib, processes, nil
}
