package testprogram

import (
	"bytes"
	"context"
	"os"
	"syscall"
)

// chunkSize is the size in bytes of one memory mapping or write.
const chunkSize = 1 << 20

// allocateMemory maps anonymous memory and touches each page. It bypasses the Go heap, so the
// amount is exact.
func (w *worker) allocateMemory(ctx context.Context, total, rate int64) error {
	var block []byte
	page := int64(os.Getpagesize())
	remaining := int64(0) // untouched bytes of block
	return runPaced(ctx, total, rate, func(due int64) error {
		for due > 0 {
			if remaining == 0 {
				var err error
				if block, err = syscall.Mmap(-1, 0, chunkSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err != nil {
					return err
				}
				// Allocate 4 KiB pages instead of 2 MiB pages, to reach a limit exactly.
				_ = syscall.Madvise(block, 15) // MADV_NOHUGEPAGE; not all kernels have it
				remaining = chunkSize
				w.mu.Lock()
				w.mappings = append(w.mappings, block)
				w.mu.Unlock()
			}
			n := min(due, remaining)
			for offset := chunkSize - remaining; offset < chunkSize-remaining+n; offset += page {
				block[offset] = 1
			}
			remaining, due = remaining-n, due-n
		}
		return nil
	})
}

// allocateShared writes and maps a file in /dev/shm.
func (w *worker) allocateShared(ctx context.Context) error {
	f, err := os.CreateTemp("/dev/shm", "workload-")
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name()) // the mapping keeps the contents
	data := bytes.Repeat([]byte{1}, chunkSize)
	err = runPaced(ctx, int64(w.memoryShared), int64(w.memoryRate), func(due int64) error {
		for ; due > 0; due -= min(due, chunkSize) {
			if _, err := f.Write(data[:min(due, chunkSize)]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	mapping, err := syscall.Mmap(int(f.Fd()), 0, int(w.memoryShared), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mappings = append(w.mappings, mapping)
	return nil
}
