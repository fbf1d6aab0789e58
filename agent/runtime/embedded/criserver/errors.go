package criserver

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// idLength is the length of complete IDs.
const idLength = 64

// uniqueID returns the only match of a shortened ID, or the ID itself if nothing matches.
func uniqueID(kind, prefix string, matches []string) (string, error) {
	switch len(matches) {
	case 0:
		return prefix, nil
	case 1:
		return matches[0], nil
	}
	return "", status.Errorf(codes.InvalidArgument, "%s ID %q: matches %d IDs: use more digits", kind, prefix, len(matches))
}

// requiredError returns the error of a call without a required field.
func requiredError(call, field string) error {
	return status.Errorf(codes.InvalidArgument, "%s: %s: required", call, field)
}
