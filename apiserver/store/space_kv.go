package store

import (
	"context"
	"net/http"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// ReasonInsufficientStorage is the reason of the error for a write that the store has no space for.
const ReasonInsufficientStorage metav1.StatusReason = "InsufficientStorage"

// maxLeaseBytes is the maximum size of an essential Lease. A usual Lease has less than 1 KiB.
const maxLeaseBytes = 8 << 10

// spaceKV rejects all but essential puts while the file system is nearly full.
type spaceKV struct {
	clientv3.KV
	guard *spaceGuard
}

func (s spaceKV) Txn(ctx context.Context) clientv3.Txn {
	return &spaceTxn{Txn: s.KV.Txn(ctx), ctx: ctx, kv: s}
}

func (s spaceKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	if err := s.admit(ctx, []clientv3.Op{clientv3.OpPut(key, value)}); err != nil {
		return nil, err
	}
	return s.KV.Put(ctx, key, value, opts...)
}

type spaceTxn struct {
	clientv3.Txn
	ctx context.Context
	kv  spaceKV
	ops []clientv3.Op
}

func (t *spaceTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.Txn = t.Txn.If(cs...)
	return t
}

func (t *spaceTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn, t.ops = t.Txn.Then(ops...), append(t.ops, ops...)
	return t
}

func (t *spaceTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.Txn, t.ops = t.Txn.Else(ops...), append(t.ops, ops...)
	return t
}

func (t *spaceTxn) Commit() (*clientv3.TxnResponse, error) {
	if err := t.kv.admit(t.ctx, t.ops); err != nil {
		return nil, err
	}
	return t.Txn.Commit()
}

// admit returns an API error if the store has no space for the puts among ops.
func (s spaceKV) admit(ctx context.Context, ops []clientv3.Op) error {
	for _, op := range ops {
		if !op.IsPut() {
			continue
		}
		size := int64(len(op.KeyBytes()) + len(op.ValueBytes()))
		err := s.guard.admit(size, essentialLevel(ctx, string(op.KeyBytes()), size))
		if err != nil && s.shrinks(ctx, op) {
			err = s.guard.admit(size, spaceLow)
		}
		if err != nil {
			spaceMetrics().rejected.Inc()
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: ReasonInsufficientStorage, Message: err.Error(),
			}}
		}
	}
	return nil
}

// essentialLevel returns the highest level at which a put of a key is accepted. Nodes and components
// need their Leases and announcements to stay healthy. A graceful deletion updates its object. Status
// updates complete the deletion of pods, and finalize completes that of namespaces.
func essentialLevel(ctx context.Context, key string, size int64) spaceLevel {
	if isHeartbeat(key, size) || strings.HasPrefix(key, announcementPrefix) || !strings.HasPrefix(key, prefix+"/") {
		return spaceCritical
	}
	info, ok := request.RequestInfoFrom(ctx)
	switch {
	case !ok:
		return spaceOK
	case info.Verb == "delete" || info.Verb == "deletecollection":
		return spaceCritical
	case info.Subresource == "status" || info.Subresource == "finalize" || info.Subresource == "eviction":
		return spaceLow
	}
	return spaceOK
}

// isHeartbeat reports whether a put is the Lease of a node or of a component. Tenants could fill the
// file system with other or larger Leases.
func isHeartbeat(key string, size int64) bool {
	path, ok := strings.CutPrefix(key, prefix+"/leases/")
	namespace, _, _ := strings.Cut(path, "/")
	return ok && size <= maxLeaseBytes && (namespace == corev1.NamespaceNodeLease || namespace == metav1.NamespaceSystem)
}

// shrinks reports whether an update does not make the stored value larger, such as the removal of a
// finalizer.
func (s spaceKV) shrinks(ctx context.Context, op clientv3.Op) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || info.Verb != "update" && info.Verb != "patch" {
		return false
	}
	resp, err := s.KV.Get(ctx, string(op.KeyBytes()), clientv3.WithSerializable())
	return err == nil && len(resp.Kvs) == 1 && len(op.ValueBytes()) <= len(resp.Kvs[0].Value)
}
