package apiserver

import (
	"io"
	"sync"
)

// pipeBufferLimit is the number of buffered bytes above which Write blocks. It is about the size of
// a socket's buffers.
const pipeBufferLimit = 4 << 20

// bufferedPipe is an in-memory pipe with a buffer. A watch needs the buffer, because the watch cache ends
// watchers that do not receive events immediately. On a busy machine the reading goroutine may be delayed.
type bufferedPipe struct {
	mu           sync.Mutex
	cond         sync.Cond
	data         []byte
	writerClosed bool
	err          error // the error that Read returns at the end; nil means io.EOF
	readerClosed bool
}

func newBufferedPipe() *bufferedPipe {
	b := &bufferedPipe{}
	b.cond.L = &b.mu
	return b
}

// Write appends p to the buffer and blocks while the buffer is full. It returns io.ErrClosedPipe
// after either end is closed.
func (b *bufferedPipe) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) > pipeBufferLimit && !b.writerClosed && !b.readerClosed {
		b.cond.Wait()
	}
	if b.writerClosed || b.readerClosed {
		return 0, io.ErrClosedPipe
	}
	b.data = append(b.data, p...)
	b.cond.Broadcast()
	return len(p), nil
}

// Read returns buffered bytes and blocks until there are any. Bytes written before closeWrite are
// returned before its error.
func (b *bufferedPipe) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && !b.writerClosed && !b.readerClosed {
		b.cond.Wait()
	}
	switch {
	case b.readerClosed:
		return 0, io.ErrClosedPipe
	case len(b.data) > 0:
		n := copy(p, b.data)
		if b.data = b.data[n:]; len(b.data) == 0 {
			b.data = nil // release the memory of a burst
		}
		b.cond.Broadcast()
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return 0, io.EOF
}

// closeWrite closes the writing end. Only the first call sets the error.
func (b *bufferedPipe) closeWrite(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.writerClosed {
		b.writerClosed, b.err = true, err
	}
	b.cond.Broadcast()
}

// Close closes the reading end and discards buffered bytes.
func (b *bufferedPipe) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readerClosed, b.data = true, nil
	b.cond.Broadcast()
	return nil
}
