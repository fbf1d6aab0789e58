package pods

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestRefused(t *testing.T) {
	for err, want := range map[error]bool{
		status.Error(codes.InvalidArgument, "the embedded runtime refuses spec.hostPID"): true,
		status.Error(codes.Unavailable, "no connection"):                                 false,
		errors.New("no room"): false,
	} {
		if refused(err) != want {
			t.Errorf("%v: refused %t, want %t", err, !want, want)
		}
	}
}
