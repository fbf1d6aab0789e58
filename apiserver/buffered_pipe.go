package apiserver

import (
	"io"
	"sync"
)

// pipeBufferLimit is the number of buffered bytes above which Write blocks. It is about the size of
// a socket's buffers.
const pipeBufferLimit = 4 << 20

// bufferedPipe is an in-memory pipe with a buffer. A watch needs the buffer: the watch cache ends
// watchers that do not receive events immediately, and on a busy machine the reading goroutine may
// be delayed.
type bufferedPipe struct {
	mu           sync.Mutex
	cond         sync.Cond
	data         []byte
	writerDone   bool  // the writer is closed
	err          error // the error that Read returns at the end; nil means io.EOF
	readerClosed bool  // the reader is closed
}

func newBufferedPipe() *bufferedPipe {
	c := &bufferedPipe{}
	c.cond.L = &c.mu
	return c
}

// Write appends p to the buffer and blocks while the buffer is full. It returns io.ErrClosedPipe
// after either end is closed.
func (c *bufferedPipe) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.data) > pipeBufferLimit && !c.writerDone && !c.readerClosed {
		c.cond.Wait()
	}
	if c.writerDone || c.readerClosed {
		return 0, io.ErrClosedPipe
	}
	c.data = append(c.data, p...)
	c.cond.Broadcast()
	return len(p), nil
}

// Read returns buffered bytes and blocks until there are any. Bytes written before closeWrite are
// returned before its error.
func (c *bufferedPipe) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.data) == 0 && !c.writerDone && !c.readerClosed {
		c.cond.Wait()
	}
	switch {
	case c.readerClosed:
		return 0, io.ErrClosedPipe
	case len(c.data) > 0:
		n := copy(p, c.data)
		if c.data = c.data[n:]; len(c.data) == 0 {
			c.data = nil // release the memory of a burst
		}
		c.cond.Broadcast()
		return n, nil
	case c.err != nil:
		return 0, c.err
	}
	return 0, io.EOF
}

// closeWrite closes the writing end. Only the first error is kept.
func (c *bufferedPipe) closeWrite(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.writerDone {
		c.writerDone, c.err = true, err
	}
	c.cond.Broadcast()
}

// Close closes the reading end and drops buffered bytes.
func (c *bufferedPipe) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readerClosed, c.data = true, nil
	c.cond.Broadcast()
	return nil
}
