package store

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"k8s.io/klog/v2"
)

// defragmentInterval is how often the embedded etcd's file is looked at.
const defragmentInterval = 10 * time.Second

// defragmenter keeps the embedded etcd's file within its quota. The file never shrinks by itself: what compaction
// frees is used again, but a burst of writes within one history leaves it large, and beyond the quota etcd takes no
// write any more, not even those that compaction and the end of its alarm need. Nobody can reach it from outside to help.
type defragmenter struct {
	server *etcdserver.EtcdServer
	quota  int64
}

// run looks until ctx ends.
func (s *defragmenter) run(ctx context.Context) {
	tick := time.NewTicker(defragmentInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.reclaim(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "The store's file could not be made smaller; trying again", "after", defragmentInterval)
		}
	}
}

// reclaim gives back what is free of a file that is more than half of the quota, and half of it free. A full store loses
// its history first: watches and continued lists that need it begin anew. Where objects fill it nothing is gained, and nobody
// waits for the file to be written anew: who deletes some has to get through.
func (s *defragmenter) reclaim(ctx context.Context) error {
	backend := s.server.Backend()
	full := s.spaceError() != nil
	if full {
		present := s.server.KV().Rev()
		if _, err := s.server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: present, Physical: true}); err != nil {
			klog.V(2).InfoS("The history of the full store was dropped before", "revision", present, "err", err)
		}
		backend.ForceCommit() // what is used is counted then
	}
	size, used, low := backend.Size(), backend.SizeInUse(), s.quota/10*9
	if full && used > low || !full && (size <= s.quota/2 || used > size/2) {
		return nil
	}
	if !full || size > low {
		if err := backend.Defrag(); err != nil {
			return fmt.Errorf("defragmenting the store: %w", err)
		}
		klog.InfoS("The store's file was made smaller", "bytesBefore", size, "bytes", backend.Size(), "quota", s.quota)
	}
	if !full || backend.Size() > low {
		return nil
	}
	_, err := s.server.Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE,
		MemberID: uint64(s.server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE})
	if err != nil {
		return fmt.Errorf("ending the store's alarm: %w", err)
	}
	return nil
}

// spaceError is an error while etcd takes no writes for want of space.
func (s *defragmenter) spaceError() error {
	for _, a := range s.server.Alarms() {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return fmt.Errorf("etcd takes no writes: its file has %d MiB of at most %d; it is made smaller every %v if its objects leave room: delete some",
				s.server.Backend().Size()>>20, s.quota>>20, defragmentInterval)
		}
	}
	return nil
}
