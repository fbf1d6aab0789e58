package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// revisionBump is added to the revision of a restored store. Clients with resource versions of the
// discarded history then list again. The documentation of etcd recommends this for Kubernetes.
const revisionBump = 1_000_000_000

// SnapshotStatus describes a snapshot in etcd's format.
type SnapshotStatus = snapshot.Status

// Snapshot returns the store at its current revision in the format of `etcdctl snapshot save`: the
// database, followed by its SHA-256. The caller must close it.
func (b *Backend) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	resp, err := b.client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading a snapshot of the store: %w", err)
	}
	return resp.Snapshot, nil
}

// SaveSnapshot writes a snapshot to path and verifies it. The file appears only when it is complete,
// and replaces an existing file.
func SaveSnapshot(from io.Reader, path string) (SnapshotStatus, error) {
	part := path + ".part"
	defer os.Remove(part)
	if err := writeSynced(from, part); err != nil {
		return SnapshotStatus{}, fmt.Errorf("saving the snapshot %s: %w", path, err)
	}
	status, err := VerifySnapshot(part)
	if err != nil {
		return status, err
	}
	if err := os.Rename(part, path); err != nil {
		return status, fmt.Errorf("saving the snapshot: %w", err)
	}
	return status, syncPath(filepath.Dir(path))
}

func writeSynced(from io.Reader, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncPath syncs a file or directory.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return fileutil.Fsync(f)
}

// VerifySnapshot checks the SHA-256 and all pages of a snapshot.
func VerifySnapshot(path string) (status SnapshotStatus, err error) {
	if err := checkSum(path); err != nil {
		return status, fmt.Errorf("snapshot %s: %w", path, err)
	}
	err = catchPanic(func() error {
		if err := checkDatabase(path); err != nil {
			return err
		}
		status, err = snapshot.NewV3(zap.NewNop()).Status(path)
		return err
	})
	if err != nil {
		return status, fmt.Errorf("snapshot %s: %w", path, err)
	}
	return status, nil
}

// RestoreSnapshot creates the store of dataDir from a snapshot. The directory must not have a store.
// The store appears only when it is complete.
func RestoreSnapshot(path, dataDir string) (SnapshotStatus, error) {
	status, err := VerifySnapshot(path)
	if err != nil {
		return status, err
	}
	lock, err := Lock(dataDir)
	if err != nil {
		return status, err
	}
	defer lock.Close()
	dir := filepath.Join(dataDir, "etcd")
	if fileutil.Exist(dir) {
		return status, fmt.Errorf("%s has a store: move %s away, or choose another directory with --data-dir", dataDir, dir)
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil { // left by an interrupted restore
		return status, fmt.Errorf("restoring to %s: %w", dataDir, err)
	}
	err = catchPanic(func() error {
		return snapshot.NewV3(newEtcdLog(dataDir).logger()).Restore(snapshot.RestoreConfig{
			SnapshotPath: path, OutputDataDir: part,
			Name: memberName, PeerURLs: []string{peerURL}, InitialCluster: memberName + "=" + peerURL, InitialClusterToken: memberName,
			RevisionBump: revisionBump, MarkCompacted: true,
		})
	})
	if err == nil {
		err = syncTree(part)
	}
	if err == nil {
		err = os.Rename(part, dir)
	}
	if err == nil {
		err = syncPath(dataDir)
	}
	if err != nil {
		_ = os.RemoveAll(part)
		return status, fmt.Errorf("restoring %s to %s: %w", path, dataDir, err)
	}
	return status, nil
}

// syncTree syncs all files and directories below dir.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncPath(path)
	})
}

// OpenSnapshot returns a snapshot of the embedded etcd in dataDir. No other process may use the
// directory. The caller must close the snapshot.
func OpenSnapshot(ctx context.Context, dataDir string) (io.ReadCloser, error) {
	if dir := filepath.Join(dataDir, "etcd"); !fileutil.Exist(dir) {
		return nil, fmt.Errorf("no store in %s: must be the --data-dir of a server with an embedded etcd", dataDir)
	}
	b, err := OpenEmbedded(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	from, err := b.Snapshot(ctx)
	if err != nil {
		b.Close()
		return nil, err
	}
	return closingSnapshot{from, b}, nil
}

// closingSnapshot closes the store together with the snapshot.
type closingSnapshot struct {
	io.ReadCloser
	backend *Backend
}

func (c closingSnapshot) Close() error {
	err := c.ReadCloser.Close()
	c.backend.Close()
	return err
}
