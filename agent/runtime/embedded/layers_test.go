package embedded

import "testing"

// An image's size is all that it holds: that nothing else is told of its layers is no fault.
func TestImageLayers(t *testing.T) {
	if layers, err := (&Runtime{}).ImageLayers(t.Context(), "app:1"); err != nil || len(layers) > 0 {
		t.Errorf("%v, %v, want none, and no error", layers, err)
	}
}
