package embedded

import (
	"context"
	"os"
	"time"
)

// AbandonCommand starts a command and then behaves like an agent that was killed: it closes its end
// of the socket to the helper. It returns the process IDs of helper and command.
func (r *Runtime) AbandonCommand(ctx context.Context, id string, args []string) (helper, child int, err error) {
	cmd, err := r.startCommand(ctx, id, args, false, [3]*os.File{})
	if err != nil {
		return 0, 0, err
	}
	cmd.release()
	return cmd.helper.pid, cmd.child, nil
}

// Dial connects to a port of a sandbox.
func (r *Runtime) Dial(sandbox string, port int32, limit time.Duration) error {
	conn, err := r.findSandbox(sandbox).dial(port, limit)
	if err != nil {
		return err
	}
	return conn.Close()
}
