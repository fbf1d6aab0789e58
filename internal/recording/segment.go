package recording

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	filePrefix = "inputs-"
	fileSuffix = ".rec"
	magic      = "berth scheduler inputs v1\n"
	// frameHeader is the size in bytes of a frame's header: length and CRC-32C of its compressed records.
	frameHeader = 8
	// maxFrame is the maximum size in bytes of the records of a frame.
	maxFrame = 1 << 30
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// Header is the first record of a segment.
type Header struct {
	Schema string `json:"schema"`
	// Run identifies the run: the time of its start.
	Run time.Time `json:"run"`
	// Number is the number of the segment within the run, from 0. All segments but the first start with a snapshot.
	Number int `json:"number"`
	// Start is the time at which the segment was started.
	Start time.Time `json:"start"`
	// Gap is set if steps are missing before this segment.
	Gap bool `json:"gap,omitempty"`
	// Options are the options of the machine, in the form that the caller of Start has chosen.
	Options json.RawMessage `json:"options"`
}

// segmentFile is a segment that is being written.
type segmentFile struct {
	f       *os.File
	path    string
	size    int64
	initial int64 // size of the header and the first steps, with the snapshot before them
}

func createSegment(dir, writer string, number int) (*segmentFile, error) {
	path := filepath.Join(dir, fmt.Sprintf("%s%s.%08d%s", filePrefix, writer, number, fileSuffix))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s := &segmentFile{f: f, path: path}
	if err := s.write([]byte(magic)); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *segmentFile) remove() error { return errors.Join(s.f.Close(), os.Remove(s.path)) }

// write appends data. After an error it removes what was written.
func (s *segmentFile) write(data []byte) error {
	if _, err := s.f.WriteAt(data, s.size); err != nil {
		return errors.Join(err, s.f.Truncate(s.size))
	}
	if err := s.f.Sync(); err != nil {
		return errors.Join(err, s.f.Truncate(s.size))
	}
	s.size += int64(len(data))
	return nil
}

func appendFrame(out, records []byte, z *zstd.Encoder) []byte {
	start := len(out)
	out = append(out, make([]byte, frameHeader)...)
	out = z.EncodeAll(records, out)
	data := out[start+frameHeader:]
	binary.LittleEndian.PutUint32(out[start:], uint32(len(data)))
	binary.LittleEndian.PutUint32(out[start+4:], crc32.Checksum(data, checksums))
	return out
}

// errTorn reports an incomplete or damaged frame.
var errTorn = errors.New("incomplete or damaged frame")

// nextFrame returns the records of the first frame and the data after it.
func nextFrame(data []byte, z *zstd.Decoder) (records, remaining []byte, err error) {
	if len(data) < frameHeader {
		return nil, nil, errTorn
	}
	size, sum := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	data = data[frameHeader:]
	if uint64(size) > uint64(len(data)) || crc32.Checksum(data[:size], checksums) != sum {
		return nil, nil, errTorn
	}
	if records, err = z.DecodeAll(data[:size], nil); err != nil {
		return nil, nil, fmt.Errorf("decompressing a frame: %w", err)
	}
	return records, data[size:], nil
}

// segmentPaths returns the segments of a writer, oldest first. If writer is empty, it returns those of all writers.
func segmentPaths(dir, writer string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	prefix := filePrefix
	if writer != "" {
		prefix += writer + "."
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), fileSuffix) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// segmentNumber returns the number in a segment's file name.
func segmentNumber(path string) (n int, err error) {
	name := strings.TrimSuffix(filepath.Base(path), fileSuffix)
	if _, err := fmt.Sscanf(name[strings.LastIndexByte(name, '.')+1:], "%d", &n); err != nil {
		return 0, fmt.Errorf("%s: not a segment: its name must end with a number and %s", path, fileSuffix)
	}
	return n, nil
}
