package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// Part names a part of the store.
type Part string

// The parts of a store.
const (
	PartDatabase Part = "database"
	PartLog      Part = "log"
	PartSnapshot Part = "snapshot"
)

// PartResult is the result of the check of one part.
type PartResult struct {
	Part  Part   `json:"part"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Error is empty if the part is intact.
	Error string `json:"error,omitempty"`
}

// CheckResult is the result of Check.
type CheckResult struct {
	Dir    string       `json:"dir"`
	Intact bool         `json:"intact"`
	Parts  []PartResult `json:"parts"`
}

// maxPageErrors bounds the errors that a result lists.
const maxPageErrors = 3

// Check verifies the embedded etcd in dataDir, which no process may use. It reads the pages of the database,
// the records of the log since its newest snapshot, and all snapshots. It does not change them.
func Check(dataDir string) (CheckResult, error) {
	dir := filepath.Join(dataDir, "etcd")
	result := CheckResult{Dir: dataDir, Intact: true}
	if _, err := os.Stat(filepath.Join(dir, "member")); err != nil {
		return result, fmt.Errorf("no store in %s: must be the --data-dir of a server with an embedded etcd: %w", dataDir, err)
	}
	lock, err := Lock(dataDir)
	if err != nil {
		return result, err
	}
	defer lock.Close()
	checks := []struct {
		part  Part
		path  string
		check func(path string) error
	}{
		{PartDatabase, databasePath(dir), checkDatabase},
		{PartLog, filepath.Join(dir, "member", "wal"), checkLog},
		{PartSnapshot, filepath.Join(dir, "member", "snap"), func(string) error { return checkSnapshots(dir) }},
	}
	for _, c := range checks {
		part := PartResult{Part: c.part, Path: c.path, Bytes: sizeOf(c.path, c.part)}
		if err := catchPanic(func() error { return c.check(c.path) }); err != nil {
			part.Error, result.Intact = err.Error(), false
		}
		result.Parts = append(result.Parts, part)
	}
	return result, nil
}

func databasePath(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// sizeOf returns the bytes of the files of a part. The database is not part of the snapshots.
func sizeOf(path string, part Part) (total int64) {
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || part == PartSnapshot && filepath.Ext(path) != ".snap" {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// catchPanic calls f and returns its panic, or its access to a page that does not exist, as an error.
func catchPanic(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged: %v", r)
		}
	}()
	return f()
}

// checkDatabase reads every page of a bbolt file with the objects of a store.
func checkDatabase(path string) error { return checkPages(path, checkObjects) }

// checkStart reads every page of the database that etcd will open. A process that ended during its first
// start may have left it empty, or without objects.
func checkStart(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return nil
	}
	return checkPages(path, func(tx *bolt.Tx) error {
		if !hasApplied(tx) {
			return nil
		}
		return checkObjects(tx)
	})
}

// checkPages reads every page of a bbolt file, and calls check with its contents.
func checkPages(path string, check func(*bolt.Tx) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("the file has %d bytes of at least %d", info.Size(), tx.Size())
		}
		// Read all pages first: on damaged pages, bbolt's check may panic in another goroutine, which ends the process.
		if _, err := walkBuckets(tx); err != nil {
			return err
		}
		if err := check(tx); err != nil {
			return err
		}
		var messages []string
		count := 0
		for err := range tx.Check() {
			if count++; count <= maxPageErrors {
				messages = append(messages, err.Error())
			}
		}
		if count == 0 {
			return nil
		}
		return fmt.Errorf("%d damaged pages: %s", count, strings.Join(messages, "; "))
	})
}

// walkBuckets reads all keys. The sum prevents the compiler from removing the reads.
func walkBuckets(tx *bolt.Tx) (sum byte, err error) {
	err = tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			for _, part := range [][]byte{k, v} {
				for i := 0; i < len(part); i += 1024 {
					sum += part[i]
				}
			}
			return nil
		})
	})
	return sum, err
}

// checkObjects checks that the bucket of the objects exists.
func checkObjects(tx *bolt.Tx) error {
	if tx.Bucket(schema.Key.Name()) == nil {
		return fmt.Errorf("bucket %q is missing", schema.Key.Name())
	}
	return nil
}

// hasApplied reports whether etcd has applied an entry of its log. etcd creates the bucket of the objects
// before that.
func hasApplied(tx *bolt.Tx) bool {
	meta := tx.Bucket(schema.Meta.Name())
	return meta != nil && meta.Get(schema.MetaConsistentIndexKeyName) != nil
}

// checkLog verifies the checksums of the log from the newest snapshot that it refers to.
func checkLog(dir string) error {
	logger := zap.NewNop()
	snapshots, err := wal.ValidSnapshotEntries(logger, dir)
	if err != nil {
		return err
	}
	if len(snapshots) == 0 {
		return errors.New("the write-ahead log refers to no snapshot")
	}
	_, err = wal.Verify(logger, dir, snapshots[len(snapshots)-1])
	return err
}

// checkSnapshots reads all snapshots. A log that begins with the first entry needs none.
func checkSnapshots(dir string) error {
	logger := zap.NewNop()
	entries, err := wal.ValidSnapshotEntries(logger, filepath.Join(dir, "member", "wal"))
	if err != nil {
		return fmt.Errorf("reading the write-ahead log: %w", err)
	}
	snapshots, err := snapshotFiles(dir)
	if err != nil || len(snapshots) == 0 && len(entries) > 0 && entries[len(entries)-1].GetIndex() == 0 {
		return err
	}
	for _, path := range snapshots {
		if _, err := snap.Read(logger, path); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	if len(snapshots) == 0 {
		return errors.New("the write-ahead log refers to a snapshot, but member/snap has none")
	}
	return nil
}

func snapshotFiles(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(dir, "member", "snap", "*.snap"))
}
