// Package attacks proves that nobody gets in (docs/security.md): it puts what a
// stranger can bring, a clone, an archive, an agent in its sandbox, another user,
// a text, before the programs of gt as a person runs them, and sees that nothing
// happened; and that beside each attack its honest twin still works. It is all
// tests:
//
//	go test ./attacks
//
// A scenario lays a trap for each program that must not run: a script that leaves
// a mark (world.trap). Where a plain git or shell falls into it, that is tried
// too (bites), so that no scenario passes because its attack is none.
//
// Each thing that an attacker once found has its test. By its number, here where no
// folder is named:
//
//	 1 a record that names a program         TestSandbox/records,-markers-and-restarts; testdata/scripts/handoff_request
//	 2 a record that names a tmux server     TestSandbox/a-tmux-server; lib/sys/tmux TestForeignServer, TestSandboxedServer, TestExchangedSocket
//	 3 town.toml of mode 0600                TestSandbox/a-town-of-mode-0600, TestSandboxInTown/roles-and-programs; lib/place TestTrustedBytesAreTheOnesRead
//	 4 restart files                         TestSandbox/records,-markers-and-restarts; lib/sys/tmux TestBuffer; testdata/scripts/secrets_session
//	 5 a log that names an account           TestBrought/a-town; testdata/scripts/seance_accounts; TestHostileStores at the top
//	 6 records and notes of mode 0600        TestBrought/what-was-kept-in-projects
//	 7 links to a neighbour                  TestBrought/a-link-to-a-neighbour, TestSandbox/a-link-to-a-neighbour's-state
//	 8 colours around secrets                lib/text/redact TestFormsTimesWrappings; testdata/scripts/secrets_hidden
//	 9 a repository that takes gt's files in TestBrought, TestTrustedTown; lib/place/git TestIgnored
//	10 a town above, by a link or a loop     TestUserPlantsTown
//	11 a file that is exchanged              TestUserExchangesFiles; lib/sys/atomicfile TestJudgedByWhatWasOpened
//	12 the frame of a note                   testdata/scripts/prime_hostile; TestTextIsPrinted/other-lines
//	13 tag characters                        TestTextIsPrinted/tags; testdata/scripts/prime_hostile
//	14 no threads, descriptors or memory     e2e TestDyingHooks; TestHostileContent at the top
//	15 another PID namespace                 TestAgentInContainer; lib/sys/process TestOtherNamespace; testdata/scripts/prime_containers
//	16 a lock on .git/info/exclude           TestSandbox/every-lock-that-it-can-have, TestUserAndState
//	17 PATH into the project                 TestPathIntoProject, TestPathIntoProjectFromElsewhere, TestInterpreterOnPath
//	18 a hundred thousand checkpoints        lib/state/checkpoint TestMany
//	19 recipients that are folders           testdata/scripts/mail_send
//	20 git runs what a repository names      TestRepositoryNamesPrograms, TestSandbox/a-repository-that-names-programs
//	21 the environment of hooks              TestSandbox/the-environment-of-its-hooks, …/programs-elsewhere, …/the-state-of-its-hooks
//	22 locks of who only reads               TestSandbox/every-lock-that-it-can-have; lib/sys/flock TestSandboxHoldsNoLock, TestWhoMayOnlyRead
//	23 an exclude that loses                 TestTrustedTown
//	24 another folder at the path            TestAnotherFolderAtThePath; lib/place TestAnotherFolderAtTheSamePath
//	25 buffers of tmux                       lib/sys/tmux TestBuffer, TestSweepBuffers
//	26 a model is told of trust              TestBrought, TestTrustedTown
//	27 cwd follows the agent                 TestSandbox/another-folder, …/a-link-for-its-folder
//
// The secrets on no list are lib/text/redact's TestForms and TestAssignments.
package attacks
