package kubeclient

import (
	"context"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Operation describes the operation that the requests of a context belong to.
type Operation struct {
	// Cause is in the notices DeletingPod; may be nil.
	Cause any
	// Requests is the sequence of requests that the fault Partial ends; nil: each request is separate.
	Requests *sim.Operation
	// Log logs what a request has changed, instead of the client. before is nil for a new object, after for a deleted one.
	Log func(before, after store.Object)
}

type operationKey struct{}

// WithOperation returns a context whose requests are part of an operation.
func WithOperation(ctx context.Context, o *Operation) context.Context {
	return context.WithValue(ctx, operationKey{}, o)
}

// operationOf returns the operation of a context, or nil.
func operationOf(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}
