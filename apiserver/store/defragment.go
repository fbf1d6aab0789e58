package store

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"k8s.io/klog/v2"
)

// defragmentInterval is how often the size of the embedded etcd's file is checked.
const defragmentInterval = 10 * time.Second

// defragmenter keeps the embedded etcd's file within its quota. Compaction frees space inside the
// file but does not shrink it, so a burst of writes leaves it large. Above the quota etcd rejects
// all writes, including those of compaction and of clearing its alarm. The embedded etcd has no
// endpoint for an operator to defragment it.
type defragmenter struct {
	server *etcdserver.EtcdServer
	quota  int64
}

// run calls reclaim periodically until ctx is done.
func (d *defragmenter) run(ctx context.Context) {
	tick := time.NewTicker(defragmentInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := d.reclaim(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to defragment the store; retrying", "interval", defragmentInterval)
		}
	}
}

// reclaim defragments the file if it is larger than half of the quota and at most half used. If
// etcd is full, reclaim first compacts the history, so watches and continued lists start over. It
// then clears the NOSPACE alarm if the file is within 90 % of the quota. If live objects fill the
// store, it does not defragment: that would gain nothing and block the client that deletes objects.
func (d *defragmenter) reclaim(ctx context.Context) error {
	backend := d.server.Backend()
	full := d.spaceError() != nil
	if full {
		revision := d.server.KV().Rev()
		if _, err := d.server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision, Physical: true}); err != nil {
			klog.V(2).InfoS("Failed to compact the store; it may have been compacted before", "revision", revision, "err", err)
		}
		backend.ForceCommit() // update the size in use
	}
	size, used, lowWaterMark := backend.Size(), backend.SizeInUse(), d.quota/10*9
	if full && used > lowWaterMark || !full && (size <= d.quota/2 || used > size/2) {
		return nil
	}
	if !full || size > lowWaterMark {
		if err := backend.Defrag(); err != nil {
			return fmt.Errorf("defragmenting the store: %w", err)
		}
		klog.InfoS("Defragmented the store", "bytesBefore", size, "bytes", backend.Size(), "quota", d.quota)
	}
	if !full || backend.Size() > lowWaterMark {
		return nil
	}
	_, err := d.server.Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE,
		MemberID: uint64(d.server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE})
	if err != nil {
		return fmt.Errorf("clearing the store's NOSPACE alarm: %w", err)
	}
	return nil
}

// spaceError returns an error while etcd rejects writes because of its quota.
func (d *defragmenter) spaceError() error {
	for _, a := range d.server.Alarms() {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return fmt.Errorf("etcd rejects writes: its database has %d MiB of at most %d MiB: delete objects; etcd is defragmented every %v",
				d.server.Backend().Size()>>20, d.quota>>20, defragmentInterval)
		}
	}
	return nil
}
