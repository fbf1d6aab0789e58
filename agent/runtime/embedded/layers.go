package embedded

import (
	"context"

	"github.com/berthproject/berth/agent/runtime"
)

// ImageLayers tells of none: packed layers are not kept, so that the size that is told of an image is all that it
// holds on the disk.
func (r *Runtime) ImageLayers(context.Context, string) ([]runtime.Layer, error) {
	return nil, nil
}
