package embedded

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxExecOutput is the maximum output of ExecSync in bytes per stream: containerd's limit.
const maxExecOutput = 16 << 20

// outputDrainTimeout is how long output is read after the command has exited, because its
// children may keep the streams open.
const outputDrainTimeout = 500 * time.Millisecond

// ExecSync runs a command in the container. After timeout the command is killed and the error has
// code DeadlineExceeded; 0 means no timeout. The timeout includes the start of the command.
func (r *Runtime) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error) {
	var out, errOut limitedBuffer
	code, err := r.execPiped(ctx, id, command, timeout, nil, &out, &errOut)
	if err != nil {
		return nil, err
	}
	return &cri.ExecSyncResponse{Stdout: out.Bytes(), Stderr: errOut.Bytes(), ExitCode: code}, nil
}

// limitedBuffer keeps the first maxExecOutput bytes.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxExecOutput-b.Len())])
	return len(p), nil
}

// stdioPipes are the standard streams of a command.
type stdioPipes struct {
	child     [3]*os.File // the command's ends
	parent    []*os.File  // the ends of this process
	copyFuncs []func()
	copies    sync.WaitGroup // goroutines that copy the output
}

// open connects stream i: 0 reads from in, the others write to out.
func (p *stdioPipes) open(i int, in io.Reader, out io.Writer) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	if i == 0 {
		p.child[i], p.parent = read, append(p.parent, write)
		p.copyFuncs = append(p.copyFuncs, func() { go func() { _, _ = io.Copy(write, in); _ = write.Close() }() })
		return nil
	}
	p.child[i], p.parent = write, append(p.parent, read)
	p.copyFuncs = append(p.copyFuncs, func() { p.copies.Go(func() { _, _ = io.Copy(out, read) }) })
	return nil
}

// closeChildEnds closes the command's ends after the fork.
func (p *stdioPipes) closeChildEnds() {
	for i, f := range p.child {
		if f != nil {
			_ = f.Close()
			p.child[i] = nil
		}
	}
}

func (p *stdioPipes) close() {
	p.closeChildEnds()
	for _, f := range p.parent {
		_ = f.Close()
	}
}

// execPiped runs a command with pipes for its streams. Nil streams are not connected.
func (r *Runtime) execPiped(ctx context.Context, id string, command []string, timeout time.Duration, in io.Reader, out, errOut io.Writer) (int32, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var streams stdioPipes
	defer streams.close()
	for i, connected := range []bool{in != nil, out != nil, errOut != nil} {
		if !connected {
			continue
		}
		if err := streams.open(i, in, []io.Writer{nil, out, errOut}[i]); err != nil {
			return 0, err
		}
	}
	cmd, err := r.startCommand(ctx, id, command, false, streams.child)
	if err != nil {
		return 0, err
	}
	defer cmd.release()
	streams.closeChildEnds()
	for _, start := range streams.copyFuncs {
		start()
	}
	err = cmd.waitOrKill(ctx)
	for _, f := range streams.parent { // children of the command may keep the other ends open
		_ = f.SetReadDeadline(time.Now().Add(outputDrainTimeout))
	}
	streams.copies.Wait()
	if err != nil {
		return 0, err
	}
	return cmd.exitCode(), nil
}
