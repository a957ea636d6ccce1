//go:build e2e

package hooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gt/e2e/client"
)

// The client takes the repository for a marketplace, and its folder for a plugin, without a
// complaint.
func TestPlugins(t *testing.T) {
	claude := client.Demand(t, "claude")
	for _, dir := range []string{"..", filepath.Join("..", "plugins", "claude")} {
		cmd := exec.Command(claude.Path, "plugin", "validate", "--strict", dir)
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "DISABLE_AUTOUPDATER=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", dir, err, out)
		}
	}
}
