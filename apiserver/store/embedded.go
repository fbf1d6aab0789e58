package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	// memberName and peerURL identify the only member. Nothing listens on the URL.
	memberName = "berth"
	peerURL    = "http://127.0.0.1:2380"
	// quotaBytes is the maximum size of the database. Above it etcd rejects writes, see defragmenter.
	// 8 GiB is the maximum that etcd recommends.
	quotaBytes = 8 << 30
	// snapshotCount is the number of log entries between two snapshots. It bounds the log that is
	// replayed after a crash.
	snapshotCount = 10000
	// maxRequestBytes is etcd's default, which the API server's request limit of 3 MiB assumes.
	maxRequestBytes = 3 << 19
	// The only member waits for 1 to electionTicks ticks until it elects itself. etcd's default, 10 ticks of 100 ms,
	// would delay a start by 0.1 s to 1 s. raft requires at least 2. etcd's request timeout is 5 s plus two election
	// timeouts: 5.4 s instead of 7 s.
	tickMilliseconds = 100
	electionTicks    = 2
	// startTimeout bounds the replay of the log at startup.
	startTimeout = 2 * time.Minute
)

// OpenEmbedded starts the etcd member stored in dir/etcd and creates it if it does not exist.
func OpenEmbedded(ctx context.Context, dir string) (*Backend, error) {
	return openEmbedded(ctx, dir, quotaBytes)
}

func openEmbedded(ctx context.Context, dir string, quota int64) (*Backend, error) {
	lock, err := Lock(dir)
	if err != nil {
		return nil, err
	}
	b, err := openLocked(ctx, dir, quota, statfs, func() { _ = lock.Close() })
	if err != nil {
		_ = lock.Close()
	}
	return b, err
}

// openLocked opens the store in dir. measure returns the usage of its file system. unlock releases the
// lock of dir.
func openLocked(ctx context.Context, dir string, quota int64, measure func(string) (usage, error), unlock func()) (*Backend, error) {
	guard := newSpaceGuard(dir, measure, time.Now)
	member := filepath.Join(dir, "etcd")
	existing := fileutil.Exist(databasePath(member)) && wal.Exist(filepath.Join(member, "member", "wal"))
	if err := guard.prepareStart(existing); err != nil {
		return nil, err
	}
	marker, incomplete := markStart(dir)
	server, err := startMember(ctx, member, quota, incomplete)
	if err != nil {
		if ctx.Err() != nil && !incomplete {
			marker.remove()
		}
		return nil, err
	}
	settled := time.AfterFunc(settledTime, marker.remove)
	enableWatchProgress(ctx, version.Version)
	newWatcher := func() clientv3.Watcher { return v3client.New(server).Watcher }
	d := &defragmenter{server: server, quota: quota}
	if err := d.reclaim(ctx); err != nil {
		klog.ErrorS(err, "Failed to defragment the store")
	}
	backgroundCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { d.run(backgroundCtx) })
	wg.Go(func() { guard.run(backgroundCtx) })
	b := newBackend(v3client.New(server), newWatcher, guard, func() {
		stop()
		wg.Wait()
		server.Stop()
		settled.Stop()
		marker.remove()
		unlock()
	})
	b.spaceError = func() error { return errors.Join(d.spaceError(), guard.check()) }
	b.reportSize(func(context.Context) (int64, error) { return d.server.Backend().Size(), nil })
	return b, nil
}

// Lock takes an exclusive lock on the data directory dir until the returned file is closed. If
// another process holds it, the error contains its pid.
func Lock(dir string) (*fileutil.LockedFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	path := filepath.Join(dir, "lock")
	lock, err := fileutil.TryLockFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		owner, _ := os.ReadFile(path)
		return nil, fmt.Errorf("data directory %s is in use by another process (pid %s): stop it, or choose another directory with --data-dir", dir, strings.TrimSpace(string(owner)))
	}
	if err != nil {
		return nil, fmt.Errorf("locking data directory %s: %w", dir, err)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return lock, nil
}

// startMember starts the etcd member in dir and waits until it is ready. incomplete reports whether the last start
// did not complete.
func startMember(ctx context.Context, dir string, quota int64, incomplete bool) (*etcdserver.EtcdServer, error) {
	log := newEtcdLog(filepath.Dir(dir))
	cfg, err := memberConfig(dir, quota, log.logger())
	if err != nil {
		return nil, err
	}
	server, err := openMember(cfg, incomplete)
	if err != nil {
		return nil, err
	}
	log.started.Store(true)
	server.Start()
	select {
	case <-server.ReadyNotify():
		return server, nil
	case <-ctx.Done():
		server.Stop()
		return nil, ctx.Err()
	case <-time.After(startTimeout):
		server.Stop()
		return nil, fmt.Errorf("the store in %s was not ready after %s; run `berth server check %s` to find damage", dir, startTimeout, filepath.Dir(dir))
	}
}

// openMember opens the store. etcd panics if files are damaged, partly in goroutines, where the panic
// ends the process. openMember checks the database first, see checkBeforeStart, and returns a panic as an error.
func openMember(cfg config.ServerConfig, incomplete bool) (server *etcdserver.EtcdServer, err error) {
	if err = checkBeforeStart(databasePath(cfg.DataDir), incomplete); err == nil {
		err = catchPanic(func() error {
			server, err = etcdserver.NewServer(cfg)
			return err
		})
	}
	if err != nil {
		dir := filepath.Dir(cfg.DataDir)
		return nil, fmt.Errorf("opening the store in %s: %w: run `berth server check %s`, and restore a snapshot with `berth snapshot restore`, or use another --data-dir", dir, err, dir)
	}
	return server, nil
}

// memberConfig returns the configuration of a single-member cluster without network clients.
func memberConfig(dir string, quota int64, logger *zap.Logger) (config.ServerConfig, error) {
	urls, err := types.NewURLs([]string{peerURL})
	if err != nil {
		return config.ServerConfig{}, err
	}
	return config.ServerConfig{
		Name:                        memberName,
		DataDir:                     dir,
		PeerURLs:                    urls,
		ClientURLs:                  urls,
		InitialPeerURLsMap:          types.URLsMap{memberName: urls},
		InitialClusterToken:         memberName,
		NewCluster:                  true,
		SnapshotCount:               snapshotCount,
		SnapshotCatchUpEntries:      snapshotCount / 2,
		MaxSnapFiles:                5,
		MaxWALFiles:                 5,
		TickMs:                      tickMilliseconds,
		ElectionTicks:               electionTicks,
		InitialElectionTickAdvance:  true,
		QuotaBackendBytes:           quota,
		MaxTxnOps:                   128,
		MaxRequestBytes:             maxRequestBytes,
		AuthToken:                   "simple",
		BcryptCost:                  10, // etcd's default; unused
		TokenTTL:                    300,
		PreVote:                     true,
		StrictReconfigCheck:         true,
		MaxLearners:                 1,
		DowngradeCheckTime:          5 * time.Second,
		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,
		CompactHashCheckTime:        time.Minute,
		BootstrapTimeout:            startTimeout,
		V2Deprecation:               config.V2DeprDefault,
		Logger:                      logger,
		ServerFeatureGate:           features.NewDefaultServerFeatureGate(memberName, logger),
		Metrics:                     "basic",
	}, nil
}
