package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Magic numbers of compression formats.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// maxWindow bounds the memory used for decompression, in bytes.
const maxWindow = 128 << 20

// decompress decompresses gzip and zstd, which it detects by content, not by media type. It returns other
// content unchanged.
func decompress(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return gzip.NewReader(b)
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// progressReader counts and hashes a stream. It fails if the stream exceeds the announced size.
type progressReader struct {
	stream   io.Reader
	hash     hash.Hash
	size     int64 // announced
	read     int64
	reported int64
	report   func(read int64)
}

// progressInterval is the number of bytes between two progress reports.
const progressInterval = 1 << 20

// Read implements io.Reader.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.stream.Read(p)
	r.hash.Write(p[:n])
	r.read += int64(n)
	if r.read > r.size {
		return n, fmt.Errorf("%w: content exceeds the announced %d bytes", errDigest, r.size)
	}
	if r.read-r.reported >= progressInterval || err == io.EOF {
		r.reported = r.read
		r.report(r.read)
	}
	return n, err
}
