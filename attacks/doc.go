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
// What each can bring, what gt does then, and the tests and scenarios (testdata/scripts)
// that show it:
//
// A clone, an archive:
//
//   - records, notes, markers, checkpoints, roles, a log, a whole state folder, as
//     files, links or pipes. gt reads, tells and changes none, and does not mention
//     them. gt writes nothing that could be staged. TestBrought, TestHonestPlaces,
//     prime_cloned, checkpoint_guard, TestProjectLinks
//   - another folder at an old path. gt gives it its own state; a renamed folder keeps
//     its own. TestAnotherFolderAtTheSamePath, TestAnotherFolderAtThePath,
//     TestMovedFolder, prime_renamed
//   - town.toml, mayor/town.json. gt ignores it until you trust it, and tells no model
//     of it. town_trust, prime_owner
//   - git configuration, attributes, filters, hooks, submodules, .git files. gt shows
//     git a directory with harmless keys only. No filter, monitor or hook of the
//     repository runs; git enters no inner repository, fetches and writes nothing. Your
//     own filters (Git LFS) run. TestRepositoryNamesPrograms, TestHonestRepositories,
//     TestStatusIsThatOfGit, TestCheckoutIsNotWritten, FuzzHarmless, checkpoint_programs
//   - a program named like one that gt starts, with PATH into the project. gt skips
//     every PATH folder that is in, leads into or passes through the project.
//     TestPathIntoProject, TestPathIntoProjectAround, TestPathIntoProjectFromElsewhere,
//     TestClientOnPath, TestInterpreterOnPath, handoff_project_program
//   - .beads for bd. gt runs bd in trusted towns only. TestBeadsOutsideTowns
//   - a log or record that names a conversation, account or folder. gt uses only your
//     stores and accounts, and folders that are yours or that the conversation names.
//     seance_accounts, prime_transcripts, TestOwnFile, TestOwnAccount, TestOwnFolder
//   - client settings that are links. gt-hooks changes nothing that a link reaches
//     outside the project. TestProjectLinksItsSettings
//   - client settings, for a session that talk asks. gt uses your settings only.
//     TestTalkTakesThePersonsSettings, TestTalkToCodexTakesThePersonsSettings
//
// An agent in its sandbox, and what its commands run:
//
//   - any file in the project while hooks look at it. gt reads only requests there, and
//     waits for nothing. TestSandbox
//   - a forged or changed request. gt checks the digest against the client's own account
//     of this turn's commands; serves each once; names no program, session, pane or
//     role; grants a successor no more freedom. TestForgedConversation,
//     handoff_request, handoff_sandbox, TestTakeRefuses, TestTakeOnlyWhatWasShown,
//     TestShows, TestLine, TestServedIsNotedFirst, TestHandoverFromSandbox,
//     TestCodexSandbox
//   - a socket that answers as tmux. gt opens the socket, judges who answers, and uses
//     that connection. TestSandboxedServer, TestForeignServer, TestExchangedSocket
//   - a changed successor's start. gt passes it in a tmux buffer, never in a file or on
//     a command line. handoff_buffer
//   - a lock held for ever. gt opens locks (0200) for writing only.
//     TestSandboxHoldsNoLock, TestWhoMayOnlyRead
//   - a process number of its own PID namespace. gt treats a foreign session as alive
//     until twelve silent hours or a reboot, and signals nothing there.
//     TestAgentInContainer, prime_containers, codex_sandbox, TestOtherNamespace,
//     TestForeignProc
//   - any file in its trusted town, exchanged at any time. gt treats it as a claim;
//     works in folders that it has opened; keeps events in the state if the town's log,
//     its lock or a second name for it cannot be used. TestSandboxInTown,
//     TestSandboxExchanges, TestSandboxExchangesArchive, TestAnotherNameOfAFile,
//     TestMirrorStaysInTown
//   - ten thousands of files, 100,000 notes. gt reads what a record vouches for, and a
//     bounded number of notes. TestMany, TestHostileStores, TestVeryManyNotes
//
// Another user:
//
//   - files in shared folders such as /tmp, exchanged meanwhile. gt reads nothing there;
//     opens state files first and judges what it opened; follows no link, waits for no
//     FIFO. TestUserAndState, TestUserExchangesFiles, TestHostileOwners,
//     TestHostileFiles, TestJudgedByWhatWasOpened, TestTrustedBytesAreTheOnesRead
//   - a folder above yours that claims to be a town. gt ignores it; gt-hooks trust
//     refuses another user's folder. TestUserPlantsTown, prime_owner, town_trust
//   - a link on the way to your state. gt follows only yours and root's. TestForeignLink
//   - a repository above your folders. gt accepts yours, root's, or a safe.directory of
//     yours. TestUserPlantsRepository, TestHonestRepositories
//   - a hub's socket, files and port. TestUserAtTheHub
//   - a reused process number, a similar tmux session name. gt signals a checked handle;
//     names tmux targets exactly (=name:). TestUserLeavesSocketsAndPids, TestSignal,
//     pid_reap, hostile_pids, TestHasIsExact
//
// Text: notes, issues, branches, commits, paths, titles, output:
//
//   - control, escape, bidirectional and invisible characters. gt cleans, then redacts,
//     then cuts (lib/text/plain, lib/text/redact). TestHostileTitles, hostile_titles,
//     hooks_hostile, secrets_hidden, TestCleanComesFirst, FuzzPlain
//   - the end of its frame, a heading, a client's tag. gt frames it so that nothing
//     inside ends the frame. TestInside, FuzzInside
//   - a name that reads like an order. gt quotes it in a line of at most 120 characters.
//     TestHostileContent, TestHostileTitles
//   - any size, depth, JSON, SQLite or mail. gt bounds every read (standard input 4 MiB,
//     then drained; a note 16 MiB; a conversation by its ends) and skips the rest; git
//     gets 1 GiB of memory (Linux). TestHostileInput, TestHostileContent, mail_hostile,
//     seance_hostile, TestRepositoryNamesEndlessFiles, the fuzz targets
//   - an id that is a path. gt accepts 1 to 128 letters, digits, ., -, _.
//     TestHostileIDs, FuzzParseID
//
// The environment:
//
//   - what client settings or .env (Qwen Code) add: a town, home, PATH, tmux server, git
//     configuration, library, time zone, arguments. gt uses what you started the
//     client's process with. prime_environment, prime_transcripts, TestSandbox,
//     TestProjectNamesHome, TestProjectNamesEnvFile, TestArgsThatTheClientTells
//   - GT_* of a parent session. gt believes the hook's input; passes a successor no
//     variable of client children. TestBegin, TestFind, prime_input
//   - no HOME, or an invalid one. gt uses the passwd entry's, never /tmp; without any it
//     keeps no thread. TestReadOnlyHome, TestStateOf, TestNoState, hostile_places
//   - no more processes, descriptors or memory, so that Go exits with 2. gt ends every
//     shell line in || : (hooks). TestDyingHooks
//
// A trusted town:
//
//   - a changed file. gt reads it no more and reports an error. town_trust, TestTrust
//   - another folder at its path. gt is another town. town_trust
//   - another program's marker or checkpoint. gt tells it as that program's words; only
//     the state decides what is started, signalled or deleted. TestTrustedTown,
//     checkpoint_guard, TestClaimWaits
//
// Another agent of the town:
//
//   - a note. gt tells it as theirs, framed. mail_inbox, TestInside
//   - given work. gt tells it as an unread note, unless gt gave it with its present text
//     or you trusted the town with --mail. town_trust
//
// Another host:
//
//   - a log, a list of agents. gt shows the words; it opens no path, runs no program,
//     signals no process and uses no pane that is named there, and takes nothing for
//     running while the host is not heard. TestPeersFiles, seance_peers, session_peers;
//     lib/catalog TestPeers, TestPeersSayAnything; lib/state/peer TestAgents
//   - a letter. gt names file, sender and recipient itself, delivers it once, and never
//     as given work. lib/state/post TestDeliver, TestForgedHeaders, TestRefusal,
//     TestKnown; lib/state/mail TestHostNames
//   - work. It comes only if you allow that host to give some. lib/state/post TestGive
//   - any request to the hub, and any way to say who it is. gt's gate before the server
//     takes the commands of a relay, with answers to the asker's own inbox, and says in
//     its own words whose connection it is. lib/relay/hub TestOddConnect, TestEveryVerb,
//     TestWhatAHostMayDo, TestInvited, TestStrangers, TestAGreedyHost
//   - a parcel. Its paths, lists and members have bounds, and what could run or permit
//     something, by itself or because a hook or setting names it, waits for the person.
//     lib/launch/parcel TestHostile, TestHostileCommits, TestFields, TestSparse, TestIsPower,
//     TestNamedByPower, TestPowers, TestReturns
//   - any value in any field of what it sends. TestHostileHost at the top
//   - another host's proof that an agent went there. It is that host's alone.
//     lib/state/peer TestClaims
//   - memory of the hub, by reading nothing. lib/relay/hub TestUnread
//
// The owner of the hub, and whoever stands before it:
//
//   - a message as the hub's challenge. gt signs one word. lib/relay/seal TestChallenge;
//     lib/relay/dial TestHubsChallenge
//   - messages of others, forged, moved or sent again; two hosts with the names of a third;
//     answers of any kind. lib/relay TestHubsOwner, TestReplayed, TestReplayedBeats,
//     TestNamesTaken, TestLongMessage, TestLyingHub
//   - a server without the hub's certificate. It is told nothing. lib/relay/dial
//     TestManInTheMiddle
//
// An agent:
//
//   - gt-hooks trust --yes. gt refuses below an agent. town_trust
//
// The model:
//
//   - answers, to-dos, messages. gt quotes them, cut and without keys, framed for a
//     summariser; runs none. secrets_session, TestLeaks, handoff_auto_hostile
//
// No shell parses what gt starts or prints to be typed: TestNamesAreNotRun,
// TestRespawnGivesTheArgumentsAsTheyAre.
//
// The secrets on no list are lib/text/redact's TestForms and TestAssignments.
package attacks
