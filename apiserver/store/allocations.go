package store

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// allocationPrefix holds one key for each value that is given out once in the
// cluster, such as a service's address. The key's value says who has it.
const allocationPrefix = prefix + "/claims/"

// Allocate takes a value of a pool for owner. It is false if somebody has it; the
// same owner may claim again.
func (b *Backend) Allocate(ctx context.Context, pool, value, owner string) (bool, error) {
	key := allocationPrefix + pool + "/" + value
	resp, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, owner)).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return false, fmt.Errorf("claiming %s from %s: %w", value, pool, err)
	}
	if resp.Succeeded {
		return true, nil
	}
	held := resp.Responses[0].GetResponseRange().Kvs
	return len(held) == 1 && string(held[0].Value) == owner, nil
}

// Release gives a value back, if owner has it.
func (b *Backend) Release(ctx context.Context, pool, value, owner string) error {
	key := allocationPrefix + pool + "/" + value
	_, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Value(key), "=", owner)).
		Then(clientv3.OpDelete(key)).
		Commit()
	if err != nil {
		return fmt.Errorf("returning %s to %s: %w", value, pool, err)
	}
	return nil
}

// Allocated returns who has which values of a pool.
func (b *Backend) Allocated(ctx context.Context, pool string) (map[string]string, error) {
	root := allocationPrefix + pool + "/"
	resp, err := b.client.Client.Get(ctx, root, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("reading claims of %s: %w", pool, err)
	}
	held := make(map[string]string, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		held[strings.TrimPrefix(string(kv.Key), root)] = string(kv.Value)
	}
	return held, nil
}
