package apiserver

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestBufferedPipeReturnsAllBytesThenError(t *testing.T) {
	p := newBufferedPipe()
	sent := bytes.Repeat([]byte("0123456789"), pipeBufferLimit/4)
	cause := errors.New("aborted")
	go func() {
		for remaining := sent; len(remaining) > 0; {
			n, err := p.Write(remaining[:min(len(remaining), 100_000)])
			if err != nil {
				t.Error(err)
				return
			}
			remaining = remaining[n:]
		}
		p.closeWrite(cause)
		p.closeWrite(nil) // only the first call sets the error
	}()
	got, err := io.ReadAll(p)
	if !bytes.Equal(got, sent) || !errors.Is(err, cause) {
		t.Errorf("got %d of %d bytes and error %v, want all of them and %v", len(got), len(sent), err, cause)
	}
	if _, err := p.Write([]byte("late")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write after the end: %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestBufferedPipeCloseUnblocksWriter(t *testing.T) {
	p := newBufferedPipe()
	if n, err := p.Write(make([]byte, pipeBufferLimit+1)); n != pipeBufferLimit+1 || err != nil {
		t.Fatalf("first write: got %d bytes and error %v, want %d and no error", n, err, pipeBufferLimit+1)
	}
	result := make(chan error)
	go func() {
		_, err := p.Write([]byte("x"))
		result <- err
	}()
	_ = p.Close()
	if err := <-result; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write to a closed reader: %v, want %v", err, io.ErrClosedPipe)
	}
	if n, err := p.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a read after Close: got %d and error %v, want %v", n, err, io.ErrClosedPipe)
	}
}
