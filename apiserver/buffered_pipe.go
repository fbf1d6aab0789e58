package apiserver

import (
	"io"
	"sync"
)

// pipeBufferLimit is how many bytes a conduit holds before writers wait: about what
// the buffers of a socket would hold.
const pipeBufferLimit = 4 << 20

// bufferedPipe is a pipe with room in it. A watch needs that: the watch cache ends
// watchers who do not take their events at once, and on a busy machine the
// goroutine that reads may not run for a while.
type bufferedPipe struct {
	mu           sync.Mutex
	cond         sync.Cond
	data         []byte
	writerDone   bool  // nothing more is written
	err          error // what reading ends with; nil is io.EOF
	readerClosed bool  // nothing more is read
}

func newBufferedPipe() *bufferedPipe {
	c := &bufferedPipe{}
	c.cond.L = &c.mu
	return c
}

// Write puts bytes in, waiting for room. After the end it fails with io.ErrClosedPipe.
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

// Read takes bytes out, waiting for some. What was written before the end is read first.
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
			c.data = nil // a burst's memory is given back
		}
		c.cond.Broadcast()
		return n, nil
	case c.err != nil:
		return 0, c.err
	}
	return 0, io.EOF
}

// closeWrite says that nothing more is written; the first err stays.
func (c *bufferedPipe) closeWrite(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.writerDone {
		c.writerDone, c.err = true, err
	}
	c.cond.Broadcast()
}

// Close says that nothing more is read.
func (c *bufferedPipe) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readerClosed, c.data = true, nil
	c.cond.Broadcast()
	return nil
}
