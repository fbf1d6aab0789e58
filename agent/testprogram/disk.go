package testprogram

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// writeFile writes the file once or repeatedly, and then reads it if the flags request that.
func (w *worker) writeFile(ctx context.Context) error {
	for {
		if err := w.writeOnce(ctx); err != nil {
			return err
		}
		if !w.rewrite {
			break
		}
	}
	if w.read == w.writeTo {
		return w.readFile(ctx)
	}
	return nil
}

// writeOnce writes w.write bytes to the file.
func (w *worker) writeOnce(ctx context.Context) error {
	f, err := os.Create(w.writeTo)
	if err != nil {
		return err
	}
	defer f.Close()
	data := nonZeroChunk()
	err = runPaced(ctx, int64(w.write), int64(w.writeRate), func(due int64) error {
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
	return f.Close()
}

// nonZeroChunk returns chunkSize bytes to write. Some file systems do not store zeroes.
func nonZeroChunk() []byte { return bytes.Repeat([]byte("berth"), chunkSize/5+1)[:chunkSize] }

// readFile reads the file w.reads times, or without limit if w.reads is 0, until ctx ends.
func (w *worker) readFile(ctx context.Context) error {
	for i := 0; i < w.reads || w.reads == 0; i++ {
		f, err := os.Open(w.read)
		if err != nil {
			return err
		}
		// The wrapper hides other methods of f, so that Copy reads the data into memory.
		_, err = io.Copy(io.Discard, struct{ io.Reader }{f})
		f.Close()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// createFiles creates empty files.
func (w *worker) createFiles(ctx context.Context) error {
	if err := os.MkdirAll(w.inodesIn, 0o755); err != nil {
		return err
	}
	created := 0
	return runPaced(ctx, int64(w.inodes), int64(w.inodeRate), func(due int64) error {
		for ; due > 0; due-- {
			f, err := os.OpenFile(filepath.Join(w.inodesIn, strconv.Itoa(created)), os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			f.Close()
			created++
		}
		return nil
	})
}
