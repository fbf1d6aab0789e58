package image

import (
	"fmt"

	"github.com/distribution/reference"
)

// normalizeName adds the tag latest to a name with neither tag nor digest; the rest of the
// name stays as it was written. repository is the normalised name without tag.
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
