package client

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// beadsVersion is that of bd which the stories run. Its package at npm only fetches a program
// from elsewhere, so that it is built from its source.
const beadsVersion = "v1.3.0"

// Beads returns the path of bd: that of GT_E2E_BD, else the one in the cache, which it builds
// the first time. That takes minutes.
func Beads() (string, error) {
	if path := os.Getenv("GT_E2E_BD"); path != "" {
		return path, nil
	}
	dir, err := cache()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bd", beadsVersion, "bd")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	module := "module bd\n\ngo 1.24\n\nrequire github.com/steveyegge/beads " + beadsVersion + "\n"
	if err := os.WriteFile(filepath.Join(fresh, "go.mod"), []byte(module), 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-buildvcs=false", "-o", "bd", "github.com/steveyegge/beads/cmd/bd")
	cmd.Dir, cmd.Env = fresh, append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=1", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build bd %s: %w\n%s", beadsVersion, err, out)
	}
	return path, os.Rename(filepath.Join(fresh, "bd"), path)
}
