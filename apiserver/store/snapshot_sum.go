package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
)

// pageAlignment divides the size of every bbolt file. A remainder shows that a SHA-256 follows the
// database.
const pageAlignment = 512

// checkSum compares the SHA-256 at the end of a snapshot with its contents.
func checkSum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size()%pageAlignment != sha256.Size {
		return errors.New("the SHA-256 at its end is missing: it is incomplete, or not a snapshot of etcd")
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, f, info.Size()-sha256.Size); err != nil {
		return err
	}
	want, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if !bytes.Equal(want, hash.Sum(nil)) {
		return errors.New("its contents do not match its SHA-256: the file is damaged")
	}
	return nil
}
