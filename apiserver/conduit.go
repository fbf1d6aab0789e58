package apiserver

import (
	"io"
	"sync"
)

// conduitLimit is how many bytes a conduit holds before writers wait: about what
// the buffers of a socket would hold.
const conduitLimit = 4 << 20

// conduit is a pipe with room in it. A watch needs that: the watch cache ends
// watchers who do not take their events at once, and on a busy machine the
// goroutine that reads may not run for a while.
type conduit struct {
	mu    sync.Mutex
	moved sync.Cond
	data  []byte
	done  bool  // nothing more is written
	err   error // what reading ends with; nil is io.EOF
	shut  bool  // nothing more is read
}

func newConduit() *conduit {
	c := &conduit{}
	c.moved.L = &c.mu
	return c
}

// Write puts bytes in, waiting for room. After the end it fails with io.ErrClosedPipe.
func (c *conduit) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.data) > conduitLimit && !c.done && !c.shut {
		c.moved.Wait()
	}
	if c.done || c.shut {
		return 0, io.ErrClosedPipe
	}
	c.data = append(c.data, p...)
	c.moved.Broadcast()
	return len(p), nil
}

// Read takes bytes out, waiting for some. What was written before the end is read first.
func (c *conduit) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.data) == 0 && !c.done && !c.shut {
		c.moved.Wait()
	}
	switch {
	case c.shut:
		return 0, io.ErrClosedPipe
	case len(c.data) > 0:
		n := copy(p, c.data)
		if c.data = c.data[n:]; len(c.data) == 0 {
			c.data = nil // a burst's memory is given back
		}
		c.moved.Broadcast()
		return n, nil
	case c.err != nil:
		return 0, c.err
	}
	return 0, io.EOF
}

// end says that nothing more is written; the first err stays.
func (c *conduit) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		c.done, c.err = true, err
	}
	c.moved.Broadcast()
}

// Close says that nothing more is read.
func (c *conduit) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut, c.data = true, nil
	c.moved.Broadcast()
	return nil
}
