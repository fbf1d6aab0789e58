package embedded

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/store"
)

const (
	sandboxFile   = "sandbox.json"
	containerFile = "container.json"
)

// sandboxRecord is the content of sandbox.json.
type sandboxRecord struct {
	ID      string
	Created time.Time
	Raw     json.RawMessage // Config as JSON
	// Group is the cgroup.
	Group   string
	Address string `json:",omitempty"`
	// Process, Start and Boot identify the process that holds the namespaces; zero before its start.
	Process int    `json:",omitempty"`
	Start   string `json:",omitempty"`
	Boot    string `json:",omitempty"`
	// Down reports whether the sandbox was stopped.
	Down bool `json:",omitempty"`

	Config *cri.PodSandboxConfig `json:"-"`
}

// containerRecord is the content of container.json.
type containerRecord struct {
	ID, Sandbox string
	Created     time.Time
	Raw         json.RawMessage // Config as JSON
	ImageID     string
	ImageRef    string // imageRef in CRI's ContainerStatus
	ImageName   string `json:",omitempty"` // image in CRI's ContainerStatus
	Group       string
	Log         string `json:",omitempty"`
	StopSignal  string `json:",omitempty"`

	Config *cri.ContainerConfig `json:"-"`
}

// newID returns 64 hexadecimal digits, as in containerd.
func newID() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// save writes a record atomically. It first sets raw, a field of the record, to config as JSON.
func save(dir, name string, record any, raw *json.RawMessage, config proto.Message) (err error) {
	if *raw, err = protojson.Marshal(config); err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (s *sandboxRecord) save(dir string) error {
	return save(dir, sandboxFile, s, &s.Raw, s.Config)
}

func (c *containerRecord) save(dir string) error {
	return save(dir, containerFile, c, &c.Raw, c.Config)
}

func loadSandbox(dir string) (s sandboxRecord, err error) {
	s.Config = &cri.PodSandboxConfig{}
	err = load(dir, sandboxFile, &s, &s.Raw, s.Config)
	return s, err
}

func loadContainer(dir string) (c containerRecord, err error) {
	c.Config = &cri.ContainerConfig{}
	err = load(dir, containerFile, &c, &c.Raw, c.Config)
	return c, err
}

// load reads a record and its config. If the file is empty, the error is os.ErrNotExist.
func load(dir, name string, record any, raw *json.RawMessage, config proto.Message) error {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil && len(bytes.Trim(text, "\x00")) == 0 {
		err = os.ErrNotExist // a power failure truncated the file, and no process of the record survived it
	}
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(*raw, config)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// bootID returns the ID of the machine's current boot.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "%s %q: not found", kind, id)
}

// withStatusCode adds a gRPC code to an error without one.
func withStatusCode(err error) error {
	if err == nil || status.Code(err) != codes.Unknown {
		return err
	}
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, store.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	default:
		return status.Error(codes.Unknown, err.Error())
	}
}
