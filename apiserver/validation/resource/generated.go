package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// generatedRules is a function of k8s.io/api, generated from the markers of type T.
type generatedRules[T any] func(ctx context.Context, op operation.Operation, path *field.Path, obj, old *T) field.ErrorList

// generated applies the generated rules to a new object (old is nil), or to the changed fields of an update.
// Types of partitionable devices are an alpha feature, which is off by default.
func generated[T any](rules generatedRules[T], path *field.Path, obj, old *T) field.ErrorList {
	op := operation.Operation{Type: operation.Create, Options: map[string]bool{"DRAPartitionableDevicesType": false}}
	if old != nil {
		op.Type = operation.Update
	}
	return rules(context.Background(), op, path, obj, old)
}
