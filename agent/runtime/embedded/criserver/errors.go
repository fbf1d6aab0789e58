package criserver

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// idLength is the length of complete IDs.
const idLength = 64

// oneOf returns the only match of a shortened ID, or the ID itself if nothing matches.
func oneOf(kind, prefix string, matches []string) (string, error) {
	switch len(matches) {
	case 0:
		return prefix, nil
	case 1:
		return matches[0], nil
	}
	return "", status.Errorf(codes.InvalidArgument, "%s ID %q: matches %d IDs: use more digits", kind, prefix, len(matches))
}

// missing returns the error of a call without a required field.
func missing(call, field string) error {
	return status.Errorf(codes.InvalidArgument, "%s: %s: required", call, field)
}
