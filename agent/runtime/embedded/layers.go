package embedded

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/runtime"
)

// ImageLayers answers Unimplemented: packed layers are not kept, so that the size that is told of an image
// is what it holds on the disk.
func (r *Runtime) ImageLayers(context.Context, string) ([]runtime.Layer, error) {
	return nil, status.Error(codes.Unimplemented, "the embedded runtime keeps no packed layers: an image's size is what it holds")
}
