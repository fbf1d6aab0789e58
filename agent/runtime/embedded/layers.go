package embedded

import (
	"context"

	"github.com/berthproject/berth/agent/runtime"
)

// ImageLayers returns nothing: compressed layers are not kept, so the size of an image is its
// disk usage.
func (r *Runtime) ImageLayers(context.Context, string) ([]runtime.Layer, error) {
	return nil, nil
}
