package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// announcementPrefix is the key prefix of what the API servers that share an etcd announce to each
// other. The keys expire.
const announcementPrefix = prefix + "/announcements/"

// Announce adds a value to a pool for the duration ttl.
func (b *Backend) Announce(ctx context.Context, pool, value string, ttl time.Duration) error {
	lease, err := b.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return fmt.Errorf("announcing %s in %s: %w", value, pool, err)
	}
	if _, err := b.client.Client.Put(ctx, announcementPrefix+pool+"/"+value, "", clientv3.WithLease(lease.ID)); err != nil {
		return fmt.Errorf("announcing %s in %s: %w", value, pool, err)
	}
	return nil
}

// Withdraw removes a value from a pool.
func (b *Backend) Withdraw(ctx context.Context, pool, value string) error {
	if _, err := b.client.Client.Delete(ctx, announcementPrefix+pool+"/"+value); err != nil {
		return fmt.Errorf("withdrawing %s from %s: %w", value, pool, err)
	}
	return nil
}

// Announced returns the values of a pool in lexical order.
func (b *Backend) Announced(ctx context.Context, pool string) ([]string, error) {
	root := announcementPrefix + pool + "/"
	resp, err := b.client.Client.Get(ctx, root, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("listing the announcements in %s: %w", pool, err)
	}
	var values []string
	for _, kv := range resp.Kvs {
		values = append(values, strings.TrimPrefix(string(kv.Key), root))
	}
	return values, nil
}
