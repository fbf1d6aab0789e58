package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const sample = `2026-01-02T15:04:01Z stdout F one
2026-01-02T15:04:02.5Z stderr F two
nonsense
2026-01-02T15:04:03.123456789Z stdout P thr
2026-01-02T15:04:03.2Z stdout F ee
2026-01-02T15:04:04Z stdout F
2026-01-02T15:04:05Z stdout F:x fi ve
`

func writeLog(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func copyLog(t *testing.T, path string, q Request) string {
	t.Helper()
	var out bytes.Buffer
	if err := Copy(t.Context(), &out, path, q, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCopy(t *testing.T) {
	since := time.Date(2026, 1, 2, 15, 4, 3, 0, time.UTC)
	for name, tc := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"all":           {func(*Request) {}, "one\ntwo\nthree\n\nfi ve\n"},
		"last two":      {func(q *Request) { q.Tail = 2 }, "\nfi ve\n"},
		"long line":     {func(q *Request) { q.Tail = 3 }, "three\n\nfi ve\n"},
		"none":          {func(q *Request) { q.Tail = 0 }, ""},
		"more than all": {func(q *Request) { q.Tail = 99 }, "one\ntwo\nthree\n\nfi ve\n"},
		"since":         {func(q *Request) { q.Since = since }, "three\n\nfi ve\n"},
		"errors only":   {func(q *Request) { q.Stdout = false }, "two\n"},
		"last error":    {func(q *Request) { q.Stdout, q.Tail = false, 1 }, "two\n"},
		"seven bytes":   {func(q *Request) { q.Limit = 7 }, "one\ntwo"},
		"eight bytes":   {func(q *Request) { q.Limit = 8 }, "one\ntwo\n"},
		"times": {func(q *Request) { q.Timestamps, q.Tail = true, 3 },
			"2026-01-02T15:04:03.123456789Z three\n2026-01-02T15:04:04.000000000Z \n2026-01-02T15:04:05.000000000Z fi ve\n"},
	} {
		t.Run(name, func(t *testing.T) {
			q := All()
			tc.change(&q)
			if got := copyLog(t, writeLog(t, sample), q); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRotatedFilesComeFirst(t *testing.T) {
	path := writeLog(t, "2026-01-02T15:04:07Z stdout F five\n")
	for suffix, text := range map[string]string{
		"20260102-150402.000000": "2026-01-02T15:04:01Z stdout F one\n2026-01-02T15:04:02Z stdout F two\n2026-01-02T15:04:02Z stdout P th\n",
		"20260102-150406.000001": "\n2026-01-02T15:04:03Z stdout F ree\n2026-01-02T15:04:04Z stdout F four\n", "20260101-000000.gz": "2026-01-01T00:00:00Z stdout F no\n",
	} {
		if err := os.WriteFile(path+"."+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for tail, want := range map[int64]string{-1: "one\ntwo\nthree\nfour\nfive\n", 1: "five\n", 2: "four\nfive\n", 3: "three\nfour\nfive\n", 4: "two\nthree\nfour\nfive\n"} {
		q := All()
		q.Tail = tail
		if got := copyLog(t, path, q); got != want {
			t.Errorf("last %d lines: got %q, want %q", tail, got, want)
		}
	}
}

// TestTailAcrossBlocks checks that the tail equals the end of the whole output, wherever block boundaries are.
func TestTailAcrossBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var file strings.Builder
	for i := range 3000 {
		tag := "F"
		if r.IntN(3) == 0 {
			tag = "P"
		}
		fmt.Fprintf(&file, "2026-01-02T15:04:05Z std%s %s %d%s\n", []string{"out", "err"}[r.IntN(2)], tag, i, strings.Repeat("x", r.IntN(200)))
	}
	fmt.Fprintf(&file, "2026-01-02T15:04:05Z stdout F end\n")
	path := writeLog(t, file.String())
	q := All()
	q.Stderr = false
	lines := strings.SplitAfter(strings.TrimSuffix(copyLog(t, path, q), "\n"), "\n")
	for range 50 {
		n := r.IntN(len(lines) + 2)
		q.Tail = int64(n)
		got, want := copyLog(t, path, q), strings.Join(lines[max(0, len(lines)-n):], "")
		if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
			t.Fatalf("last %d lines: %d bytes, want %d", n, len(got), len(want))
		}
	}
}

func TestMissingLog(t *testing.T) {
	if err := Copy(t.Context(), &bytes.Buffer{}, filepath.Join(t.TempDir(), "0.log"), All(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Copy of a missing log: %v, want %v", err, os.ErrNotExist)
	}
}

// syncBuffer is the output of a follower, for tests that wait for it.
type syncBuffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p)
	select {
	case b.written <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *syncBuffer) waitFor(t *testing.T, want string) {
	t.Helper()
	for b.String() != want {
		select {
		case <-b.written:
		case <-time.After(30 * time.Second):
			t.Fatalf("got %q, want %q", b.String(), want)
		}
	}
}

func TestFollow(t *testing.T) {
	path := writeLog(t, "2026-01-02T15:04:01Z stdout F one\n")
	out := &syncBuffer{written: make(chan struct{}, 1)}
	exited := make(chan struct{})
	done := make(chan error, 1)
	q := All()
	q.Follow = true
	go func() {
		done <- Copy(t.Context(), out, path, q, func(context.Context) (bool, error) {
			select {
			case <-exited:
				return true, nil
			default:
				return false, nil
			}
		})
	}()
	out.waitFor(t, "one\n")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprint(f, "2026-01-02T15:04:02Z stdout F tw")
	fmt.Fprint(f, "o\n")
	out.waitFor(t, "one\ntwo\n")
	if err := os.Rename(path, path+".20260102-150402"); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "2026-01-02T15:04:03Z stdout F three\n") // before the runtime reopens the log
	out.waitFor(t, "one\ntwo\nthree\n")
	fmt.Fprint(f, "2026-01-02T15:04:04Z stdout F four\n")
	if err := os.WriteFile(path, []byte("2026-01-02T15:04:05Z stdout F five\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out.waitFor(t, "one\ntwo\nthree\nfour\nfive\n")
	close(exited)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestFollowerWaitsForTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	calls, q := 0, All()
	q.Follow = true
	var out bytes.Buffer
	err := Copy(t.Context(), &out, path, q, func(context.Context) (bool, error) {
		calls++
		if calls == 2 {
			return true, os.WriteFile(path, []byte("2026-01-02T15:04:01Z stdout F one\n"), 0o600)
		}
		return calls > 2, nil
	})
	if err != nil || out.String() != "one\n" {
		t.Errorf("output %q, %v, want \"one\\n\"", out.String(), err)
	}
	// A log that never appears is not an error.
	if err := Copy(t.Context(), &out, path+"x", q, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Errorf("Copy of a log that never appears: %v, want no error", err)
	}
}
