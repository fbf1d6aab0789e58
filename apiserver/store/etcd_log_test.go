package store

import (
	"testing"

	"go.uber.org/zap/zapcore"
)

func TestEtcdLogHasErrorsOnly(t *testing.T) {
	core := newEtcdLog(t.TempDir()).logger().Named("etcd").Core().With(nil)
	for message, want := range map[string]bool{earlyStorageVersion: false, "failed to apply": true} {
		if got := core.Check(zapcore.Entry{Level: zapcore.ErrorLevel, Message: message}, nil) != nil; got != want {
			t.Errorf("error %q: got logged %v, want %v", message, got, want)
		}
	}
	if core.Check(zapcore.Entry{Level: zapcore.WarnLevel, Message: "slow"}, nil) != nil {
		t.Error("a warning is logged, want errors only")
	}
}
