package store

import (
	"testing"

	"go.uber.org/zap/zapcore"
)

func TestEtcdLogHasErrorsOnly(t *testing.T) {
	core := newEtcdLog(t.TempDir()).logger().Named("etcd").Core()
	for i, tc := range []struct {
		message string
		want    bool
	}{{"failed to apply", true}, {earlyStorageVersion, false}, {earlyStorageVersion, true}, {"failed to apply", true}} {
		if got := core.With(nil).Check(zapcore.Entry{Level: zapcore.ErrorLevel, Message: tc.message}, nil) != nil; got != tc.want {
			t.Errorf("entry %d, error %q: got logged %v, want %v", i, tc.message, got, tc.want)
		}
	}
	if core.Check(zapcore.Entry{Level: zapcore.WarnLevel, Message: "slow"}, nil) != nil {
		t.Error("a warning is logged, want errors only")
	}
}
