package embedded

import "testing"

// TestImageLayers checks that the absence of layers is not an error.
func TestImageLayers(t *testing.T) {
	if layers, err := (&Runtime{}).ImageLayers(t.Context(), "app:1"); err != nil || len(layers) > 0 {
		t.Errorf("layers %v, %v, want none and no error", layers, err)
	}
}
