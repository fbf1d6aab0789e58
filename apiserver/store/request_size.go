package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// sizeLimitKV converts etcd's "request is too large" to an API error with code 413.
type sizeLimitKV struct{ clientv3.KV }

func (s sizeLimitKV) Txn(ctx context.Context) clientv3.Txn { return sizeLimitTxn{s.KV.Txn(ctx)} }

type sizeLimitTxn struct{ clientv3.Txn }

func (t sizeLimitTxn) If(cs ...clientv3.Cmp) clientv3.Txn   { return sizeLimitTxn{t.Txn.If(cs...)} }
func (t sizeLimitTxn) Then(ops ...clientv3.Op) clientv3.Txn { return sizeLimitTxn{t.Txn.Then(ops...)} }
func (t sizeLimitTxn) Else(ops ...clientv3.Op) clientv3.Txn { return sizeLimitTxn{t.Txn.Else(ops...)} }

func (t sizeLimitTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err != nil && (errors.Is(err, rpctypes.ErrRequestTooLarge) || strings.Contains(err.Error(), "request is too large")) {
		err = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the object is too large for the store: the limit is %d bytes as protobuf", int(maxRequestBytes)))
	}
	return resp, err
}
