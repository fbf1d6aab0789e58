package store

import (
	"fmt"
	"os"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// etcdLog is the log of an embedded etcd. It logs errors only. When etcd cannot continue, it reports
// one line with the next step and ends the process.
type etcdLog struct {
	dir  string
	exit func(line string)
	// started is set once the member runs: a panic in its goroutines cannot be recovered.
	started atomic.Bool
}

func newEtcdLog(dir string) *etcdLog {
	return &etcdLog{dir: dir, exit: func(line string) {
		fmt.Fprintln(os.Stderr, line)
		os.Exit(1)
	}}
}

func (l *etcdLog) logger() *zap.Logger {
	onlyErrors := zap.LevelEnablerFunc(func(level zapcore.Level) bool { return level == zapcore.ErrorLevel })
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(os.Stderr), onlyErrors)
	return zap.New(etcdCore{core, new(atomic.Bool)}, zap.WithFatalHook(fatalHook{l}), zap.WithPanicHook(panicHook{l}))
}

// earlyStorageVersion is an error of etcd at the first start. etcd sets the storage version while the first transaction
// of the database is open, and retries after 4 s.
const earlyStorageVersion = "failed to update storage version"

// etcdCore drops the first entry with the message earlyStorageVersion.
type etcdCore struct {
	zapcore.Core
	dropped *atomic.Bool // shared by the cores that With returns
}

// Check implements zapcore.Core.
func (c etcdCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Message == earlyStorageVersion && !c.dropped.Swap(true) {
		return checked
	}
	return c.Core.Check(e, checked)
}

// With implements zapcore.Core.
func (c etcdCore) With(fields []zapcore.Field) zapcore.Core {
	return etcdCore{c.Core.With(fields), c.dropped}
}

type fatalHook struct{ log *etcdLog }

func (h fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	h.log.exit("berth: " + h.log.describe(entry.Message, fields))
	panic(entry.Message) // zap expects that a hook does not return
}

type panicHook struct{ log *etcdLog }

func (h panicHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	if h.log.started.Load() {
		h.log.exit("berth: " + h.log.describe(entry.Message, fields))
	}
	panic(withErrors(entry.Message, fields))
}

// withErrors returns a message with the errors among the fields.
func withErrors(message string, fields []zapcore.Field) string {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok {
			message += ": " + err.Error()
		}
	}
	return message
}

func (l *etcdLog) describe(message string, fields []zapcore.Field) string {
	return fmt.Sprintf("the store in %s failed (%s): free space if its file system is full; otherwise stop the server and run `berth server check`", l.dir, withErrors(message, fields))
}
