package store

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// allocationPrefix is the key prefix of cluster-wide allocations, such as cluster IPs. The value of
// a key is the owner.
const allocationPrefix = prefix + "/claims/"

// Allocate allocates a value of a pool to owner. It returns false if another owner has it.
// Allocating again for the same owner succeeds.
func (b *Backend) Allocate(ctx context.Context, pool, value, owner string) (bool, error) {
	key := allocationPrefix + pool + "/" + value
	resp, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, owner)).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return false, fmt.Errorf("allocating %s from %s: %w", value, pool, err)
	}
	if resp.Succeeded {
		return true, nil
	}
	kvs := resp.Responses[0].GetResponseRange().Kvs
	return len(kvs) == 1 && string(kvs[0].Value) == owner, nil
}

// Release releases a value if owner has it, and reports whether it did.
func (b *Backend) Release(ctx context.Context, pool, value, owner string) (bool, error) {
	key := allocationPrefix + pool + "/" + value
	resp, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Value(key), "=", owner)).
		Then(clientv3.OpDelete(key)).
		Commit()
	if err != nil {
		return false, fmt.Errorf("releasing %s to %s: %w", value, pool, err)
	}
	return resp.Succeeded, nil
}

// Owner returns the owner of a value, or "".
func (b *Backend) Owner(ctx context.Context, pool, value string) (string, error) {
	resp, err := b.client.Client.Get(ctx, allocationPrefix+pool+"/"+value)
	if err != nil {
		return "", fmt.Errorf("reading the owner of %s in %s: %w", value, pool, err)
	}
	if len(resp.Kvs) == 0 {
		return "", nil
	}
	return string(resp.Kvs[0].Value), nil
}

// Allocated returns the owners of the allocated values of a pool.
func (b *Backend) Allocated(ctx context.Context, pool string) (map[string]string, error) {
	root := allocationPrefix + pool + "/"
	resp, err := b.client.Client.Get(ctx, root, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("listing allocations of %s: %w", pool, err)
	}
	owners := make(map[string]string, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		owners[strings.TrimPrefix(string(kv.Key), root)] = string(kv.Value)
	}
	return owners, nil
}
