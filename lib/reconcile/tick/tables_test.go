package tick

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// counterparts are the rows of the test tables of the document that templates and pools
// come from (its phases 1 to 5 and its conformance suite), and what shows each here. None
// needs tmux.
var counterparts = []struct{ row, pkg, test string }{
	{"TestResolveTemplate_Basic", "lib/reconcile/template", "TestParse"},
	{"TestResolveTemplate_WithOverlay", "lib/reconcile/template", "TestOverlay"},
	{"TestResolveTemplate_OverlayDenylist", "lib/reconcile/template", "TestOverlay"},
	{"TestConfigHash_Canonical", "lib/reconcile/template", "TestHash"},
	{"TestConfigHash_Behavioral", "lib/reconcile/template", "TestHash"},

	{"TestController_SessionManager_Create", "lib/reconcile/perform", "TestScale"},
	{"TestController_AgentStart_Panics", ".", "TestLayoutLifecycle"}, // nothing else changes a lifecycle
	{"TestController_BeadDrivenLifecycle", "lib/reconcile/perform", "TestHistories"},
	{"TestController_FailedBeadRead_AbortsTick", "lib/reconcile/perform", "TestFailClosed"},

	{"TestDrainProtocol_InFlightCompletes", "lib/reconcile/tick", "TestAPoolThatGrowsAndShrinks"},
	{"TestDrainProtocol_Timeout", "lib/reconcile/perform", "TestDrain"},
	{"TestDrainProtocol_CrashDuringDrain", "lib/reconcile/tick", "TestACrashDuringADrain"},
	{"TestArchive_LabelRemoved", "lib/reconcile/perform", "TestScale"},
	{"TestSuspend_PoolLabelRemoved", "lib/reconcile/perform", "TestRepairs"},
	{"TestResume_LabelRestoredAfterLiveness", "lib/state/lifecycle", "TestOrders"},
	{"TestReactivate_LabelRestoredAfterLiveness", "lib/state/lifecycle", "TestOrders"},
	{"TestCreation_LabelAddedAfterLiveness", "lib/state/lifecycle", "TestOrders"},
	{"TestArchive_Reactivate_AtomicMutations", "lib/state/instance", "TestManaged"},
	{"TestArchivedSession_NoWorkRouting", "lib/state/work", "TestWork"},
	{"TestSuspendedSession_NoWorkRouting", "lib/state/work", "TestWork"},
	{"TestRetentionPolicy_MaxArchived", "lib/reconcile/tick", "TestRetain"},
	{"TestCrashLoop_Quarantine", "lib/reconcile/perform", "TestCrashes"},
	{"TestQuarantine_ReactivationBlockedAtMax", "lib/reconcile/tick", "TestAQuarantineInAFullPool"},
	{"TestQuarantine_CycleCountPersisted", "lib/reconcile/perform", "TestCrashes"},
	{"TestScaleDown_SuspendedFirst", "lib/reconcile/tick", "TestWhoLeavesAPool"},
	{"TestExecStore_PartialFailureRepair", "lib/reconcile/perform", "TestRepairs"},
	{"TestSocketConcurrency_MutationDuringTick", "lib/reconcile/perform", "TestStale"},
	{"TestCreating_StaleCleanup", "lib/reconcile/tick", "TestACreationThatTimesOut"},
	{"TestForwardCompatibility_UnknownState", "lib/reconcile/perform", "TestStrays"},
	{"TestReactivate_OverlayRevalidation", "lib/reconcile/perform", "TestOverlay"},
	{"TestArchivedSecretTTL_FreshMode", "lib/reconcile/perform", "TestRetained"},
	{"TestAdminClose_Offline_KillsRuntimes", "lib/reconcile/perform", "TestClosedWithWork"},
	{"TestDrainCompletion_AuthoritativeQuery", "lib/reconcile/perform", "TestDrain"},
	{"TestExecStore_QuarantineRepair", "lib/reconcile/tick", "TestRepairs"},
	{"TestActiveCrash_BelowThreshold_RestartInPlace", "lib/reconcile/perform", "TestCrashes"},

	{"TestNoAgentAgentImports", ".", "TestLayoutLifecycle"},
	{"TestController_DirectManagerOps", "lib/reconcile/perform", "TestHistories"},
	{"TestMultiInstance_ViaSessionBeads", "lib/reconcile/perform", "TestOverlay"},
	{"TestNoMultiRegistry", ".", "TestLayoutLifecycle"},

	{"TestConformance_CreatingState", "lib/reconcile/perform", "TestScale"},
	{"TestConformance_CreatingStale", "lib/reconcile/tick", "TestACreationThatTimesOut"},
	{"TestConformance_DrainState", "lib/reconcile/tick", "TestAPoolThatGrowsAndShrinks"},
	{"TestConformance_DrainCrash", "lib/reconcile/tick", "TestACrashDuringADrain"},
	{"TestConformance_QuarantineState", "lib/reconcile/tick", "TestACrashLoop"},
	{"TestConformance_QuarantineAtMax", "lib/reconcile/tick", "TestAQuarantineInAFullPool"},
	{"TestConformance_ArchivedReactivation", "lib/reconcile/tick", "TestAPoolThatTakesBack"},
	{"TestConformance_OverlayValidation", "lib/reconcile/template", "TestOverlay"},
	{"TestConformance_AtomicStateTransitions", "lib/state/instance", "TestCopies"},
	{"TestConformance_SuspendedPoolRouting", "lib/reconcile/perform", "TestRepairs"},
	{"TestConformance_TwoAxisState", "lib/state/instance", "TestCopies"},
	{"TestConformance_UnknownStateForwardCompat", "lib/reconcile/tick", "TestAStateOfANewerVersion"},
}

// Each row of the document has a test here that is still there. [S4-151]
func TestCounterparts(t *testing.T) {
	texts := map[string]string{}
	for _, c := range counterparts {
		if _, ok := texts[c.pkg]; !ok {
			files, _ := filepath.Glob(filepath.Join("../../..", c.pkg, "*_test.go"))
			for _, f := range files {
				data, err := os.ReadFile(f)
				testenv.NoError(t, err)
				texts[c.pkg] += string(data)
			}
		}
		if !strings.Contains(texts[c.pkg], "\nfunc "+c.test+"(t *testing.T)") {
			t.Errorf("%s: there is no %s in %s", c.row, c.test, c.pkg)
		}
	}
}
