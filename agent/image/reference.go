package image

import (
	"fmt"

	"github.com/distribution/reference"
)

// normalizeName appends ":latest" to a name without a tag or digest. repository is the canonical
// name without tag and digest.
func normalizeName(image string) (full, repository string, err error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	if reference.IsNameOnly(named) {
		image += ":latest"
	}
	return image, named.Name(), nil
}
