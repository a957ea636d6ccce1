package redact

import (
	"strings"
	"sync"
)

// shape is the form of the tokens of one service: a prefix, and what follows it.
type shape struct {
	prefix string
	chars  string // the classes of the characters that follow (see inClass)
	min    int    // their minimum number
	max    int    // their maximum number, after which the word must end; 0 for no maximum
	how    int
}

// How a shape is recognized.
const (
	word   = 1 << iota // the prefix can be part of other words, so it must begin one
	digit              // other words can begin with the prefix, so the rest must have a digit or be mixed
	random             // the rest must be mixed
	tail               // the prefix is the public part of a URL, which stays
	bare   = word | digit
)

// shapes are tried in this order, so the longer of two prefixes comes first. They are the
// forms that the services document. bench/redact compares them with the rules of a scanner
// that is kept up to date.
var shapes = [...]shape{
	// Models.
	{"sk-ant-", "w-", 8, 0, 0}, {"sk-", "w-", 20, 0, bare}, {"gsk_", "w", 32, 0, bare}, {"xai-", "w", 32, 0, bare},
	{"AIza", "w-", 35, 0, bare}, {"pplx-", "a", 40, 0, bare}, {"nvapi-", "w-", 32, 0, bare}, {"r8_", "w-", 36, 0, bare},
	{"hf_", "a", 30, 40, word}, {"api_org_", "a", 30, 40, word}, {"lsv2_pt_", "w", 30, 0, 0}, {"lsv2_sk_", "w", 30, 0, 0},
	{"pcsk_", "w", 40, 0, bare}, {"tgp_v1_", "w-", 30, 0, 0}, {"ABSK", "a+/=", 100, 0, bare},
	{"bedrock-api-key-", "w-+/=", 20, 0, 0}, {"key_", "x", 64, 64, word},
	{"csk-", "a", 40, 0, bare}, {"tvly-", "w-", 30, 0, bare}, {"fw_", "a", 20, 30, bare}, {"jina_", "w-", 40, 0, bare}, {"sess-", "a", 32, 0, bare},
	{"AQ.", "w-", 30, 0, bare}, {"AQVN", "w-", 35, 0, bare}, {"llx-", "w-", 30, 0, bare}, {"pa-", "w-", 40, 50, word | random}, {"rpa_", "a", 36, 0, bare},
	{"fc-", "x", 32, 32, word}, {"bb_live_", "w-", 20, 0, 0}, {"m0-", "a", 36, 0, bare}, {"wandb_v1_", "w", 40, 0, 0}, {"e2b_", "x", 40, 0, word},
	{"crsr_", "x", 64, 64, word}, {"sgamp_user_", "w", 40, 0, 0}, {"ctx7sk-", "x-", 36, 0, 0}, {"apify_api_", "a-", 30, 0, 0}, {"ak-", "a", 22, 22, word | random},
	{"as-", "a", 22, 22, word | random}, {"cog_", "a", 40, 0, bare}, {"fk-", "w-", 30, 0, word | random},

	{"arc_", "w", 40, 0, word | random}, {"unkey_", "a", 20, 0, bare}, {"auth_", "a", 32, 32, word | random}, {"ak_", "a", 20, 20, word | random}, {"bu_", "w-", 43, 43, word | random},
	{"z_1dWlkIjoi", "w-.", 40, 0, 0}, {"eyJhcGlfYWRkcmVzcyI6", "a+/=", 60, 0, 0}, {"eyJVc2VySUQiOi", "a+/=", 40, 0, 0}, {"hf_oauth_", "w-.", 60, 0, 0}, {"hf_jwt_", "w-.", 60, 0, random},
	{"opk_", "a", 32, 0, bare}, {"key_", "x", 28, 31, word}, {"org_", "x", 80, 0, word}, {"wk-1.", "x", 64, 64, word}, {"con-", "x", 64, 64, word}, {"cr-", "x", 58, 58, word},
	{"sk_car_", "a", 20, 0, bare}, {"secret_", "w.", 66, 0, word | random}, {"_sk_", "a", 20, 0, random}, {"_pat_", "a", 24, 0, digit}, {"n8n_api_", "a", 30, 0, bare}, // of any service
	{"ls__", "x", 32, 0, word}, {"BSA", "w-", 28, 28, word | random}, {"bt-st-", "a", 40, 0, 0}, {"ck-", "a", 40, 50, word | random}, {"dtn_", "x", 60, 0, word}, {"apk_", "w+/=", 40, 0, bare},
	{"bce-v3/", "w/-", 60, 0, word}, {"AKLT", "w", 40, 60, bare}, {"KGAT_", "x", 32, 0, 0}, {"hb_", "x", 28, 0, word}, {"ste-", "a", 60, 0, bare}, {"luma-", "x-", 36, 0, word}, {"fpk_", "a", 20, 40, bare},

	// Code and packages.
	{"ghp_", "w", 20, 0, 0}, {"gho_", "w", 20, 0, 0}, {"ghu_", "w", 20, 0, 0}, {"ghs_", "w", 20, 0, 0}, {"ghr_", "w", 20, 0, 0},
	{"github_pat_", "w", 20, 0, 0},
	{"glpat-", "w-.=", 16, 0, 0}, {"gldt-", "w-", 16, 0, bare}, {"glrt-", "w-.", 16, 0, bare}, {"glptt-", "w-", 16, 0, bare},
	{"glcbt-", "w-", 20, 0, bare}, {"glffct-", "w-", 16, 0, bare}, {"glft-", "w-", 16, 0, bare}, {"glimt-", "w-", 16, 0, bare},
	{"glagent-", "w-", 40, 0, bare}, {"gloas-", "w-", 40, 0, bare}, {"glsoat-", "w-", 16, 0, bare}, {"GR1348941", "w-", 20, 0, word},
	{"_gitlab_session=", "a", 32, 0, tail},
	{"npm_", "a", 36, 0, bare}, {"pypi-", "w-", 50, 0, bare}, {"rubygems_", "a", 48, 0, bare}, {"CLOJARS_", "a", 50, 0, word},
	{"dckr_pat_", "w-", 20, 0, 0}, {"dckr_oat_", "w-", 20, 0, 0}, {"sktsec_", "w-", 30, 0, 0}, {"chpt_", "x", 12, 0, word}, {"mob-", "x-", 36, 36, word}, {"dnsimple_", "w", 24, 0, bare}, {"nbp_", "a", 36, 0, bare},
	{"xaat-", "x-", 36, 36, word}, {"xapt-", "x-", 36, 36, word}, {"essu_", "w-=+/", 40, 0, bare}, {"pk1_", "x", 64, 64, word}, {"sk1_", "x", 64, 64, word}, {"st.", "x.", 80, 0, word},
	{"depot_", "w", 64, 0, bare}, {"nsct_", "w", 32, 0, bare}, {"dag_", "w", 32, 0, word | random}, {"AIK_SECRET_", "w", 30, 0, word}, {"AIK_CI_", "w", 30, 0, word}, {"NpmToken.", "x-", 36, 36, word},
	{"jsrp_", "a", 30, 0, bare}, {"jsrd_", "a", 30, 0, bare}, {"ovsxat_", "x-", 36, 36, word}, {"ovsxp_", "x-", 36, 36, word}, {"cxtp_", "a", 30, 0, bare}, {"cxup_", "a", 30, 0, bare},
	{"fhb-", "x", 32, 0, word}, {"ser.", "a", 22, 22, word | random}, {"production.", "x", 56, 56, word}, {"development.", "x", 56, 56, word}, {"dvc_server_", "w", 38, 0, word}, {"fsq3", "a+/=", 44, 0, bare},
	{"AKCp", "a", 60, 0, bare}, {"cmVmd", "a", 55, 70, bare},
	{"sgp_", "w", 40, 0, bare}, {"sntryu_", "x", 40, 0, word}, {"sntrys_", "w+/=", 60, 0, word}, {"CCIPAT_", "w", 30, 0, word},
	{"bkua_", "a", 40, 0, bare}, {"lin_api_", "w", 32, 0, 0}, {"lin_oauth_", "w", 32, 0, 0}, {"lin_wh_", "w", 32, 0, bare}, {"figd_", "w-", 30, 0, bare},
	{"ATATT3x", "w-=+/", 60, 0, bare}, {"ATCTT3x", "w-=+/", 60, 0, bare}, {"ATBB", "a", 24, 40, bare}, {"API-", "U", 25, 36, word},
	{"pul-", "a", 40, 40, bare}, {"pnu_", "a", 36, 0, bare}, {"rdme_", "a", 60, 0, bare}, {"PMAK-", "a-", 50, 0, bare},
	{"ntn_", "a", 40, 0, bare}, {"secret_", "a", 40, 50, bare}, {"CFPAT-", "w-", 40, 0, bare}, {"fio-u-", "w-=", 60, 0, bare},
	{"pat-na1-", "a-", 32, 0, bare}, {"pat-eu1-", "a-", 32, 0, bare}, {"pat.", "w-.", 60, 0, bare}, {"sat.", "w-.", 60, 0, bare},
	{"pat", "a.", 79, 79, bare}, {"p8e-", "a", 32, 32, bare}, {"NRAK-", "U", 27, 27, word},
	{"oy2", "a", 43, 43, bare}, {"cio", "a", 32, 32, word | random}, {"packagist_", "w", 40, 0, bare}, {"squ_", "x", 40, 40, word}, {"sqp_", "x", 40, 40, word},
	{"sqa_", "x", 40, 40, word}, {"glrtr-", "w-", 16, 0, bare}, {"glwt-", "w-", 16, 0, bare}, {"ATTA", "a", 60, 80, bare}, {"CCIPRJ_", "w", 30, 0, word},
	{"bkct_", "a", 30, 0, bare}, {"bkpt_", "a", 30, 0, bare}, {"bkaj_", "a", 30, 0, bare}, {"snyk_uat.", "w-.", 40, 0, 0}, {"snyk_sat.", "w-.", 40, 0, 0},
	{"PMAT-", "a", 26, 26, bare}, {"phx_", "w", 32, 0, bare}, {"phs_", "w", 32, 0, bare}, {"figoh_", "w-", 30, 0, bare}, {"slk_", "x", 64, 64, word},
	{"pnb_", "a", 36, 0, bare}, {"dbtc_", "w-", 30, 0, bare}, {"dbts_", "w-", 30, 0, bare}, {"dbtu_", "w-", 30, 0, bare}, {"NRII-", "w-", 25, 32, bare}, {"NRIQ-", "w-", 25, 32, bare}, {"NRBR-", "x", 19, 19, word},
	{"NRRA-", "x", 42, 42, word}, {"hcaik_", "a", 40, 0, bare}, {"hcxik_", "a", 40, 0, bare}, {"hcamk_", "a", 40, 0, bare}, {"tfp_", "w-", 40, 0, bare},
	{"eyJ0eXAiOiAiVENWMiJ9.", "w-.", 40, 0, 0}, {"perm:", "w-+/=.", 40, 0, bare}, {"perm-", "w-+/=.", 60, 0, bare}, {"kpat_", "a", 40, 0, bare}, {"spat_", "a", 40, 0, bare},
	{"api-", "x-", 36, 36, word}, {"retool_", "a", 20, 0, bare}, {"vtwn_", "a", 20, 0, bare}, {"ddp_", "a", 36, 0, bare}, {"ddw_", "a", 36, 0, bare}, {"ddo_", "a", 36, 0, bare},
	{"figp_", "w-=", 40, 0, bare}, {"key", "a", 14, 14, word | random}, {"flb_live_", "a", 20, 0, bare}, {"sqco_", "a", 50, 0, bare}, {"spu-", "a", 32, 32, bare},
	{"pgar_", "a", 27, 0, bare}, {"rootly_", "x", 64, 0, word}, {"thog-secret-", "x", 32, 0, word}, {"thog-key-", "x", 16, 0, word}, {"VF.", "a.", 41, 44, bare},
	{"NF-", "a", 32, 32, bare}, {"BBFF-", "a", 30, 0, bare}, {"BBUS-", "a", 30, 0, bare}, {"endr+", "a-", 16, 16, bare}, {"web_", "a", 32, 32, bare}, {"API_KEY", "U", 32, 32, word},
	{"pub-c-", "a-", 36, 36, bare}, {"sub-c-", "a-", 36, 36, bare}, {"sec-c-", "a=", 40, 60, bare}, {"salad_cloud_", "w", 15, 0, bare}, {"api_", "a.", 45, 45, word | random},
	{"ory_at_", "w-.", 30, 0, 0}, {"ory_rt_", "w-.", 30, 0, 0}, {"ory_st_", "w-.", 30, 0, 0}, {"ory_pat_", "w-.", 30, 0, 0}, {"zpka_", "w", 40, 0, bare},

	// Clouds and what runs in them.
	{"AKIA", "U", 16, 16, word}, {"ASIA", "U", 16, 16, word}, {"ABIA", "U", 16, 16, word}, {"ACCA", "U", 16, 16, word},
	{"A3T", "U", 17, 17, word},
	{"LTAI", "a", 20, 24, bare}, {"ya29.", "w-.", 12, 0, bare}, {"GOCSPX-", "w-", 20, 0, word}, {"1//0", "w-", 40, 0, bare},
	{"dop_v1_", "w", 40, 0, 0}, {"doo_v1_", "w", 40, 0, 0}, {"dor_v1_", "w", 40, 0, 0}, {"v1.0-", "a-", 150, 0, bare},
	{"dapi", "x-", 32, 34, word}, {"dt0c01.", "a.", 60, 0, word}, {"dt0s01.", "a.", 60, 0, word}, {"HRKU-AA", "w-", 50, 0, word},
	{"fo1_", "w-", 40, 0, bare}, {"fm1a_", "w-+/=,", 60, 0, bare}, {"fm1r_", "w-+/=,", 60, 0, bare}, {"fm1_", "w-+/=,", 60, 0, bare}, {"fm2_", "w-+/=,", 60, 0, bare},
	{"hvs.", "w-", 24, 0, bare}, {"hvb.", "w-.", 50, 0, bare}, {"hvr.", "w-", 24, 0, bare}, {"s.", "a", 24, 24, word | random}, {"sha256~", "w-", 43, 0, word},
	{"pscale_tkn_", "w-=.", 32, 0, 0}, {"pscale_oauth_", "w-=.", 32, 0, 0}, {"pscale_pw_", "w-=.", 32, 0, 0},
	{"sbp_", "a", 40, 0, bare}, {"sb_secret_", "w-", 20, 0, word}, {"napi_", "a", 60, 0, bare}, {"nfp_", "a", 36, 0, bare},
	{"rnd_", "a", 24, 0, bare}, {"tskey-client-", "w-", 20, 0, 0}, {"tskey-auth-", "w-", 20, 0, 0}, {"tskey-api-", "w-", 20, 0, 0}, {"tskey-webhook-", "w-", 20, 0, 0},
	{"tskey-scim-", "w-", 20, 0, 0}, {"tskey-", "w-", 20, 0, bare}, {"vercel_blob_rw_", "w", 20, 0, 0}, {"eyJhIjoi", "w+/=-", 100, 0, word}, {"4/0A", "w-", 40, 0, word},
	{"tk-us-", "w-", 40, 0, bare}, {"ico-", "a", 32, 32, bare},
	{"glc_", "a+/=", 32, 0, bare}, {"glsa_", "w", 40, 0, bare}, {"eyJrIjoi", "a=", 60, 0, word}, {"4b1d", "a", 38, 38, word},
	{"dp.pt.", "a", 40, 0, word}, {"dp.st.", "w-.", 40, 0, word}, {"dp.ct.", "a", 40, 0, word}, {"dp.sa.", "a", 40, 0, word},
	{"A3-", "U-", 30, 0, bare}, {"ops_eyJ", "w+/=-", 50, 0, word}, {"AGE-SECRET-KEY-1", "U", 40, 0, 0}, {"AGE-SECRET-KEY-PQ-1", "U", 40, 0, 0}, {"ZXlK", "w+/=-", 60, 0, bare},
	{"sdk-", "x-", 36, 36, bare}, {"aio_", "a", 28, 28, bare},
	{"vck_", "w-", 24, 0, bare}, {"vcp_", "w-", 24, 0, bare}, {"vca_", "w-", 24, 0, bare}, {"vci_", "w-", 24, 0, bare}, {"vcr_", "w-", 24, 0, bare},
	{"nfc_", "a", 36, 0, bare}, {"nfo_", "a", 36, 0, bare}, {"nfu_", "a", 36, 0, bare}, {"cfk_", "w-", 40, 0, bare}, {"cfut_", "w-", 40, 0, bare}, {"cfat_", "w-", 40, 0, bare},
	{"sl.", "w-=.", 100, 0, bare}, {"sk.eyJ", "w-.", 40, 0, 0}, {"tk.eyJ", "w-.", 40, 0, 0}, {"p.eyJ", "w-.", 40, 0, word}, {"HRKU-", "x-", 36, 36, word},
	{"AKID", "a", 32, 32, bare}, {"y0_", "w-", 50, 0, bare}, {"t1.9eu", "w-.=", 80, 0, 0}, {"YCAJE", "w-", 20, 20, bare}, {"YCN", "w-", 37, 37, bare}, {"YCO", "w-", 37, 37, bare},
	{"YCP", "w-", 37, 37, bare}, {"vk1.a.", "w-", 60, 0, 0}, {"dose", "x", 32, 34, word}, {"dkea", "x", 32, 34, word}, {"cflt", "a+/", 60, 60, bare}, {"AVNS_", "w-", 15, 30, bare},
	{"pss_service:", "w:", 128, 0, word}, {"pss_user:", "w:", 128, 0, word}, {"pst_", "w:-", 64, 0, word | random}, {"ucat_", "U", 26, 0, bare}, {"at_", "w", 50, 0, word | random},
	{"mdb_sa_sk_", "w-", 20, 0, 0}, {"CCDB1_", "w", 40, 0, 0}, {"npg_", "a", 12, 20, bare}, {"xau_", "a", 30, 0, bare}, {"standard_", "x", 200, 0, word},
	{"IQoJb3JpZ2lu", "a+/=%", 100, 0, 0}, {"FwoGZXIvYXdz", "a+/=%", 100, 0, 0}, {"aoaAAAAA", "w-:+/=", 100, 0, 0}, {"da2-", "a", 26, 26, bare}, {"amzn.mws.", "x-", 36, 36, 0},
	{"amzn1.oa2-cs.v1.", "x", 64, 64, 0}, {"Atza|", "w-+/=", 100, 0, 0}, {"Atzr|", "w-+/=", 100, 0, 0}, {"K00", "a+/", 28, 28, word | random}, {"tsec_", "w-+/=", 40, 0, bare},
	{"token-", "a:", 58, 66, bare}, {"ptr_", "w-+/=", 40, 0, bare}, {"nsec1", "a", 58, 58, bare}, {"xprv", "a", 100, 110, bare}, {"suiprivkey1", "a", 50, 0, 0},
	{"secret-live-", "w-=", 30, 0, 0}, {"secret-test-", "w-=", 30, 0, bare}, {"dp.scim.", "a", 40, 0, word}, {"dp.audit.", "a", 40, 0, word},
	{"00D", "w.!", 100, 0, word | random}, {"3MVG9", "w.+/=", 80, 0, bare}, {"5Aep861", "w.=", 80, 0, bare}, {"5AEP861", "w.=", 80, 0, bare}, {"00", "w-", 40, 40, word | random},
	{"1000.", "x.", 65, 65, word}, {"0.A", "w-.", 250, 0, bare}, {"1.A", "w-.", 250, 0, bare}, {"eu01xx", "a-", 30, 45, bare}, {"na1.", "a+/", 100, 0, bare},
	{"scauth_", "w-.+/=", 60, 0, bare}, {"authress_", "w-.+/=", 60, 0, bare}, {"ext_", "w-.+/=", 80, 0, bare}, {"sc_", "w-.+/=", 80, 0, bare},

	// Money, mail and messages.
	{"sk_live_", "w-", 10, 0, 0}, {"sk_test_", "w", 10, 0, 0}, {"sk_prod_", "w", 10, 0, 0}, {"sk_", "x", 48, 48, word},
	{"rk_live_", "w", 10, 0, 0}, {"rk_test_", "w", 10, 0, 0}, {"rk_prod_", "w", 10, 0, 0}, {"whsec_", "a+/=", 24, 0, bare},
	{"sq0atp-", "w-", 20, 0, word}, {"sq0csp-", "w-", 20, 0, word}, {"sq0", "w-", 26, 60, bare}, {"EAAA", "w-", 22, 60, bare}, {"EAA", "a", 100, 0, bare},
	{"bxt_", "a", 32, 0, bare}, {"AQE", "w-", 140, 0, bare}, {"private_", "a+/", 27, 28, word | random}, {"kit_", "x", 32, 32, word}, {"act.", "w!.-", 40, 0, word | random},
	{"_|WARNING:-DO-NOT-SHARE-THIS", "w-.|", 100, 0, digit}, {"EZAK", "a", 54, 54, word}, {"EZTK", "a", 54, 54, word}, {"FLWSECK", "w-", 12, 0, word}, {"duffel_live_", "w-=", 40, 0, word},
	{"duffel_test_", "w-=", 40, 0, word}, {"shippo_live_", "x", 40, 0, word}, {"shippo_test_", "x", 40, 0, word},
	{"shpat_", "w", 32, 0, 0}, {"shpca_", "w", 32, 0, 0}, {"shppa_", "w", 32, 0, 0}, {"shpss_", "w", 32, 0, 0},
	{"sm_aat_", "a", 16, 0, word}, {"sm_pat_", "a", 16, 0, word}, {"sm_sat_", "a", 16, 0, word},
	{"shptka_", "w", 32, 0, 0}, {"shpua_", "w", 32, 0, 0}, {"access-production-", "x-", 36, 36, 0}, {"access-sandbox-", "x-", 36, 36, 0},
	{"access-development-", "x-", 36, 36, 0}, {"live_", "w-", 30, 50, word | random}, {"sk_sbox_", "w", 20, 0, 0}, {"sk_", "a", 24, 50, word | random},
	{"pk_", "x", 34, 34, word}, {"pk_", "w", 41, 41, bare}, {"re_", "w", 30, 40, word | random}, {"pdl_", "w", 40, 0, bare}, {"polar_", "w", 40, 0, bare}, {"dub_", "a", 24, 24, bare},
	{"xsmtpsib-", "w-", 60, 0, word}, {"mlsn.", "a", 50, 0, bare}, {"md-", "w-", 22, 22, word | random}, {"os_v2_app_", "a", 50, 0, 0}, {"os_v2_org_", "a", 50, 0, 0},
	{"AAAA", "w-:", 140, 170, bare}, {"WPL_AP1.", "a.+/=", 16, 0, 0}, {"pina_", "a", 32, 0, bare}, {"IGQ", "w-", 100, 0, bare}, {"pdus+", "w-", 20, 0, bare},
	{"bb_pr_", "x", 30, 30, word}, {"bb_ma_", "x", 30, 30, word}, {"shltm_", "w-", 40, 40, bare}, {"live_", "x", 35, 35, word}, {"test_", "x", 35, 35, word},
	{"pi_", "w", 57, 57, bare}, {"seti_", "w", 57, 57, bare}, {"ramp_sec_", "a", 48, 0, bare}, {"ramp_id_", "a", 40, 0, bare}, {"rzp_live_", "a", 14, 0, bare}, {"rzp_test_", "a", 14, 0, bare},
	{"account-", "a", 20, 20, word | random}, {"master-", "a", 20, 20, word | random}, {"pk.", "a", 32, 32, bare}, {"sk.", "a-.", 80, 240, bare},
	{"RGAPI-", "x-", 36, 36, word}, {"oauth:", "a", 30, 30, bare}, {"signkey-prod-", "x", 32, 0, 0},
	{"signkey-test-", "x", 32, 0, 0}, {"tr_prod_", "a", 20, 0, bare}, {"tr_dev_", "a", 20, 0, bare}, {"cal_live_", "x", 32, 0, 0}, {"testsk_", "w", 20, 0, bare},
	{"sk", "a", 150, 200, word | random}, {"maker.ifttt.com/use/", "w-", 20, 0, tail},
	{"s-s4t2ud-", "x", 64, 0, word}, {"s-s4t2af-", "x", 64, 0, word},
	{"SG.", "w-.=", 40, 0, bare}, {"key-", "a", 32, 32, bare}, {"xkeysib-", "w-", 60, 0, word}, {"SK", "x", 32, 32, word}, {"SK", "a", 32, 32, word | random},
	{"xoxc-", "w-", 10, 0, 0}, {"xoxd-", "w-%+/=", 10, 0, 0}, {"xoxa-", "w-", 10, 0, 0}, {"xoxb-", "w-", 10, 0, 0}, {"xoxe-", "w-", 10, 0, 0}, {"xoxe.", "w-.", 10, 0, word}, {"xoxo-", "w-", 10, 0, 0},
	{"xoxp-", "w-", 10, 0, 0}, {"xoxr-", "w-", 10, 0, 0}, {"xoxs-", "w-", 10, 0, 0}, {"xapp-", "w-", 10, 0, bare},
	{"hooks.slack.com/services/", "w/+", 24, 0, tail}, {"hooks.slack.com/workflows/", "w/+", 24, 0, tail},
	{"hooks.slack.com/triggers/", "w/+", 24, 0, tail}, {"discord.com/api/webhooks/", "w-/", 40, 0, tail},
	{"discordapp.com/api/webhooks/", "w-/", 40, 0, tail}, {"webhook.office.com/webhookb2/", "w-/@", 40, 0, tail},
	{"outlook.office.com/webhook/", "w-/@", 40, 0, tail}, {"outlook.office365.com/webhook/", "w-/@", 40, 0, tail},
	{"discord.com/api/v10/webhooks/", "w-/", 40, 0, tail}, {"discord.com/api/v9/webhooks/", "w-/", 40, 0, tail}, {"discord.com/api/v8/webhooks/", "w-/", 40, 0, tail},
	{"hooks.slack-gov.com/services/", "w/+", 24, 0, tail}, {".feishu.cn/open-apis/bot/v2/hook/", "x-", 36, 36, tail}, {".larksuite.com/open-apis/bot/v2/hook/", "x-", 36, 36, tail},
	{"qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", "x-", 36, 36, tail},
	{"hooks.zapier.com/hooks/catch/", "w/", 12, 0, tail}, {".tines.com/webhook/", "w/", 40, 0, tail}, {"api.telegram.org/bot", "w-:", 35, 0, tail},

	{"syt_", "w=", 20, 0, bare}, {"syr_", "w=", 20, 0, bare}, {"access_token$", "a$", 48, 0, 0}, {"dG9rO", "a+/=", 55, 0, word}, {"KEY0", "w", 50, 60, bare}, {"alcht_", "a", 20, 0, bare},

	{"GOOG1E", "U", 55, 55, word}, {"u+", "w-", 18, 18, word | random}, {"5H", "a", 49, 49, word | random}, {"5J", "a", 49, 49, word | random}, {"5K", "a", 49, 49, word | random},

	// Settings of docker, in base64.
	{"eyJhdXRocyI6", "w+/=", 20, 0, 0}, {"ewoJImF1dGhzIjo", "w+/=", 20, 0, 0}, {"ewogICJhdXRocyI6", "w+/=", 20, 0, 0}, {"ewogICAgImF1dGhzIjo", "w+/=", 20, 0, 0},

	// Hashes of passwords.
	{"$2a$", "w$./", 50, 0, 0}, {"$2b$", "w$./", 50, 0, 0}, {"$2x$", "w$./", 50, 0, 0}, {"$2y$", "w$./", 50, 0, 0},
	{"$6$", "w$./=,", 40, 0, 0}, {"$5$", "w$./=,", 40, 0, 0}, {"$1$", "w$./", 24, 31, 0}, {"$apr1$", "w$./", 24, 0, 0},
	{"$y$", "w$./", 40, 0, 0}, {"$7$", "w$./", 40, 0, 0}, {"$argon2", "w$./=,+-", 40, 0, 0}, {"$scrypt$", "w$./=,+-", 40, 0, 0},
	{"$pbkdf2", "w$./=,+-", 40, 0, 0}, {"pbkdf2_sha", "w$./=+-", 40, 0, 0}, {"pbkdf2:sha", "w$./=+-:", 40, 0, 0},
	{"scrypt:", "w$./=+-:", 60, 0, word}, {"{SSHA}", "w+/=", 28, 0, 0}, {"{SSHA512}", "w+/=", 60, 0, 0}, {"{SSHA256}", "w+/=", 40, 0, 0},
	{"{CRYPT}", "w$./", 20, 0, 0},
}

// index finds what can begin at a character. first has the first shape that begins with a pair of
// characters, and after for each shape the next one with the same pair. The values of both are
// indexes in shapes plus one; 0 means none.
type index struct {
	first    [1 << 14]uint16
	after    [len(shapes)]uint16
	commands [1 << 7][]position // for each character, which of positions have it behind the stroke
	finders  [1 << 8][]finder   // for each character, those of findersAt
	looks    [1 << 14]uint32    // for each pair at which a secret can be found, a bit set of third characters
}

// bitOfThird returns the bit of a third character. A capital letter has that of the small one.
func bitOfThird(c byte) uint32 { return 1 << (c & 31) }

// anyNext are the characters at which something can be found, whatever follows. starts are
// the first characters of words that indicate a secret.
const anyNext = "=:,>-|%["

var starts = [...]string{
	"Aut", "aut", "AUt", "aUt", "Bea", "bea", "BEa", "bEa", "Coo", "coo", "COo", "cOo", "Set", "set", "SEt", "sEt", // headers
	"ey", "Q~", "QQ", ".at", "_mm", ".v1", "_PF", "_P0", "To-", "to-", "TO-", "FFF", "+AC", "+AS", "+AB", "+AM", "+AE", "+AR", "ACD", "AZD", "<<", "(ec", "(pr", "'ec", `"ec`, "AzF", "AzS", "ENV", "Ide", "ide", "IDe", "Pas", "pas", "PAs", "Pri", "0x", "_au", "_pa",
	"fra", "Fra", "sha", "Sha", "SHa", "sen", "Sen", "see", "See", "SEe", "phr", "Phr", "PHr", "mne", "Mne", "MNe", "rec", "Rec", "REc", "bip", "Bip", "BIp", "pwd", "Pwd", "PWd", // what is sent at a prompt, words of a wallet
	"key", "Key", "KEy", "ken", "KEn", "cre", "CRe", "#d", // and by a name within it
	"\tTR", "\tFA", "/p:", "/p ", "/gp", "/rp", "/d ", "/t/", "|ey",
	`("`, `('`, `(b"`, "(b'", `(\`, `{"`, `{'`, "??", "?:", `")`, `')`, `"]`, `']`,
}

// nextStop returns the first offset from i on at which there is something to look for, or the length of s.
func (x *index) nextStop(s string, i int) int {
	for ; i+2 < len(s); i++ {
		c, next := s[i], s[i+1]
		if c|next < 1<<7 && c != '.' { // the usual case
			if x.looks[int(c)<<7|int(next)]&bitOfThird(s[i+2]) != 0 {
				return i
			}
		} else if x.mayBegin(s, i) {
			return i
		}
	}
	return i
}

// mayBegin is nextStop for one offset, also in the rare cases: the end of s, full stops, non-ASCII.
func (x *index) mayBegin(s string, i int) bool {
	if i+2 >= len(s) {
		return true
	}
	c, next := s[i], s[i+1]
	if c >= 1<<7 {
		return c == wide[0] && next == wide[1] // of a Chinese colon or equals sign
	}
	if next >= 1<<7 {
		next = 0
	}
	// Other full stops count only in a Discord token, or after what can be 24 hexadecimal digits.
	return x.looks[int(c)<<7|int(next)]&bitOfThird(s[i+2]) != 0 || c == '.' && (i+7 < len(s) && s[i+7] == '.' || i > 24 && inClass(s[i-1], "x") && inClass(s[i-24], "x") && isAlnum(next))
}

// shapeIndex builds the index when it is first needed, so that a program which does not
// redact anything does not pay for it.
var shapeIndex = sync.OnceValue(func() *index {
	x := new(index)
	for i := len(shapes) - 1; i >= 0; i-- {
		p := shapes[i].prefix
		first := &x.first[int(p[0])<<7|int(p[1])]
		x.after[i], *first = *first, uint16(i+1)
		x.addPrefix(p)
	}
	for _, p := range starts {
		x.addPrefix(p)
	}
	for _, p := range positions {
		before, behind, _ := strings.Cut(p.command, "|")
		x.commands[behind[0]] = append(x.commands[behind[0]], position{before, behind, p.skip, p.sign})
		if len(behind) > 1 { // the colon stops the scanner in any case
			x.addPrefix(behind)
		}
	}
	for _, at := range findersAt {
		for _, c := range []byte(at.chars) {
			x.finders[c] = at.finders
		}
	}
	for _, c := range []byte(anyNext) {
		for next := range byte(1 << 7) {
			x.addPrefix(string([]byte{c, next}))
		}
	}
	return x
})

func (x *index) addPrefix(p string) {
	third := ^uint32(0)
	if len(p) > 2 {
		third = bitOfThird(p[2])
	}
	x.looks[int(p[0])<<7|int(p[1])] |= third
}

// maxDigit bounds the distance between the prefix of a token and its first digit.
const maxDigit = 100

// findShaped finds the token of a known service at s[i]. Among shapes, the first that fits counts.
// Like all functions that find something, it returns 0, 0 for nothing.
func (sc *scanner) findShaped(i int) (from, to int) {
	s := sc.s
	if i+1 >= len(s) || s[i]|s[i+1] >= 1<<7 {
		return 0, 0
	}
	for n := sc.index.first[int(s[i])<<7|int(s[i+1])]; n > 0; n = sc.index.after[n-1] {
		if from, to = sc.findToken(i, &shapes[n-1]); to > 0 {
			return from, to
		}
	}
	return 0, 0
}

// findToken is findShaped for one shape. Behind a dash or underscore in a word, the prefix may be
// there by chance, so the rest must surely be random.
func (sc *scanner) findToken(i int, sh *shape) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], sh.prefix) {
		return 0, 0
	}
	begins := sh.how&word == 0 || sc.beginsWord(i)
	if !begins && !sc.isAfterJoint(i) {
		return 0, 0
	}
	start := i + len(sh.prefix)
	end, ok := sc.tokenEnd(start, sh)
	body := s[start:min(end, start+maxLook)]
	switch n := end - start; {
	case !ok, n < sh.min, sh.how&random != 0 && !isMixedCase(body):
		return 0, 0
	case !begins && !isSureToken(body, sh.chars):
		return 0, 0
	case sh.max > 0 && (n > sh.max || end < len(s) && isAlnum(s[end]) && !sc.isSeam(end)):
		return 0, 0
	case sh.how&tail != 0:
		return start, end
	}
	return i, end
}

// tokenEnd returns the end of a token of a shape, whose prefix ends at s[start]. ok is false if
// the shape asks for a digit and the token has none, is not mixed and not wrapped.
func (sc *scanner) tokenEnd(start int, sh *shape) (end int, ok bool) {
	s := sc.s
	end, ok = start, sh.how&digit == 0
	for end < len(s) && inClass(s[end], sh.chars) {
		ok = ok || isDigit(s[end])
		end++
		if !ok && end-start > maxDigit || sh.max > 0 && end-start > sh.max {
			break
		}
	}
	if !ok && isMixedCase(s[start:min(end, start+maxDigit)]) {
		ok = true
		if sh.max == 0 {
			end = endOfRun(s, end, sh.chars)
		}
	}
	if sh.max == 0 {
		end = dottedEnd(s, end)
	}
	// A wrapped token continues on the next line.
	for k := 0; k < maxLines && (sh.max == 0 || end-start < sh.max) && end-start > 3; k++ {
		next := nextWrapped(s, end, sh.chars)
		if next == end {
			break
		}
		end, ok = next, true
	}
	// A full stop ends the sentence, not the token.
	for end > start && s[end-1] == '.' {
		end--
	}
	// What follows a seam, where something invisible was removed, can be another word.
	if sh.max > 0 && end-start > sh.max && sc.isSeam(start+sh.max) {
		end = start + sh.max
	}
	return end, ok
}

// dottedEnd returns the end of further parts of a token, each after a full stop, such as those
// of a JSON Web Token behind a prefix.
func dottedEnd(s string, end int) int {
	const least = 16
	for jwt := false; end+1 < len(s) && s[end] == '.'; {
		to := wrappedRun(s, end+1)
		part := s[end+1 : min(to, end+maxLook)]
		if len(part) < least || !jwt && !isMixedCase(part) && countAlternations(part) < 3 && !strings.HasPrefix(part, "ey") {
			break
		}
		end, jwt = to, jwt || strings.HasPrefix(part, "ey")
	}
	return end
}

// isSureToken reports whether the text after a prefix is so random that it is a token even if the
// prefix does not begin a word.
func isSureToken(body, chars string) bool {
	if chars[0] == 'x' || chars[0] == 'U' {
		return strings.ContainsAny(body, "0123456789")
	}
	return isMixedCase(body) || countAlternations(body) > 3
}

// beginsShape reports whether s begins like a token of some shape.
func beginsShape(s string) bool {
	if len(s) < 2 || s[0]|s[1] >= 1<<7 {
		return false
	}
	x := shapeIndex()
	for n := x.first[int(s[0])<<7|int(s[1])]; n > 0; n = x.after[n-1] {
		if strings.HasPrefix(s, shapes[n-1].prefix) {
			return true
		}
	}
	return strings.HasPrefix(s, "eyJ")
}

// findMarkedToken finds tokens that are recognized by characters inside them. s[i] is the first of
// these characters.
func (sc *scanner) findMarkedToken(i int) (from, to int) {
	s := sc.s
	switch {
	case strings.HasPrefix(s[i:], ".v1."): // Airtable's access token
		mid := endOfRun(s, i+len(".v1."), "w-")
		if from = sc.skipBack(i, "a", maxName); i-from < 10 || mid-i < 20 || mid >= len(s) || s[mid] != '.' {
			return 0, 0
		}
		to = endOfRun(s, mid+1, "x")
		return spanIf(to-mid-1 >= 32, from, to)
	case strings.HasPrefix(s[i:], "|ey"): // Convex
		from, to = i+1, endOfRun(s, i+1, "w+/=-")
		return spanIf(to-from >= 40 && isMixedCase(s[from:min(to, from+maxLook)]), from, to)
	}
	for n := range marks {
		m := &marks[n]
		if !strings.HasPrefix(s[i:], m.text) {
			continue
		}
		start := i + len(m.text)
		if m.how&word != 0 {
			from = sc.skipBackBounded(i, m.before, m.least, m.most)
		} else if from = sc.skipBack(i, m.before, m.most); i-from < m.least {
			continue
		}
		if to = endOfRun(s[:min(len(s), start+m.max+1)], start, m.after); to-start > m.max && m.how&random != 0 && !isAlnum(s[to-1]) {
			to-- // it does not belong to a token of a fixed length
		}
		if from == i || to-start < m.min || to-start > m.max || m.how&digit != 0 && !isDigit(s[i-1]) {
			continue
		}
		if m.how&random != 0 && (!isSureToken(s[from:to], m.before) || to < len(s) && isAlnum(s[to])) {
			continue
		}
		return from, to
	}
	return 0, 0
}

// mark is a part of a token that tells what it is, and what stands before and behind that part.
type mark struct {
	text        string
	before      string // the classes of the characters before it
	least, most int    // their number
	after       string
	min, max    int
	how         int // word: the token begins a word; digit: one is before the text; random: all of it is sure, and a sign can follow
}

const anyLength = 1 << 20

var marks = [...]mark{
	// Azure.
	{"Q~", "w.~", 4, 4, "w-.~", 31, 34, digit}, {"QQJ99", "a", 53, 53, "a", 19, 35, 0},
	{"+ACR", "a+/", 42, 42, "a+/", 6, 6, random}, {"+ASt", "a+/=", 76, 76, "a+/=", 8, 8, random},
	{"+ABa", "a+/=", 76, 76, "a+/=", 8, 8, random}, {"+AMC", "a+/=", 76, 76, "a+/=", 8, 8, random},
	{"ACDb", "a+/=", 76, 76, "a+/=", 8, 8, random}, {"+AEh", "a+/=", 33, 33, "a+/=", 7, 7, random},
	{"+ASb", "a+/=", 33, 33, "a+/=", 7, 7, random}, {"+ARm", "a+/=", 33, 33, "a+/=", 7, 7, random},
	{"AZDO", "a", 76, 76, "a", 4, 4, random}, {"AzFu", "w-=", 44, 44, "w-=", 8, 8, random},
	{"AzSe", "a", 42, 42, "a", 6, 6, random},
	// Terraform, MaxMind, Webex's bots, New Relic, Mailchimp with the name of a data centre.
	{".atlasv1.", "a", 14, 14, "w-=", 51, anyLength, 0}, {"_mmk", "w", 36, 36, "a", 0, 0, 0},
	{"_PF84_", "a", 64, 64, "x-", 36, 36, 0}, {"_P0A1_", "a", 64, 64, "x-", 36, 36, 0},
	{"-NRMA", "x", 42, 42, "x", 0, 0, random}, {"FFFFNRAL", "x", 32, 32, "x", 0, 0, random},
	{"-us", "x", 32, 32, "0", 1, anyLength, word},
	// Zhipu, Codefresh, a Facebook app, a Telegram bot.
	{".", "x", 32, 32, "a", 16, 16, word}, {".", "x", 24, 24, "x", 32, 32, word},
	{"|", "0", 15, 16, "w-", 27, 40, word}, {"%", "0", 15, 16, "w-", 27, 40, word},
	{":", "0", 8, 10, "w-", 35, 35, word},
}

// findColonToken finds tokens with a colon at s[i]: a number, or base64, and a word.
func (sc *scanner) findColonToken(i int) (from, to int) {
	s := sc.s
	if strings.HasPrefix(s[i:], ":AA") {
		return sc.findMarkedToken(i)
	}
	to = endOfRun(s[:min(len(s), i+40)], i+1, "a")
	if to-i-1 == 32 && endOfRun(s[:to], i+1, "x") == to {
		if n := sc.skipBack(i, "0/", 40); i-n > 10 && (strings.HasPrefix(s[n:], "1/") || strings.HasPrefix(s[n:], "2/")) && sc.beginsWord(n) { // Asana
			return n, to
		}
		if n := sc.skipBack(i, "x-", 36); isUUID(s[n:i]) { // fal
			return n, to
		}
	}
	// Bitwarden: 0., a UUID, a word of 30 characters, the colon, and base64.
	if n := i - len("0.") - 36 - len(".") - 30; n >= sc.done && strings.HasPrefix(s[n:], "0.") && isUUID(s[n+2:n+38]) && s[n+38] == '.' { // Bitwarden
		return n, endOfRun(s, i+1, "a+/=")
	}
	from = sc.skipBackBounded(i, "a+/=", 24, 24)
	return spanIf(from < i && to-i-1 == 32 && s[i-2:i] == "==", from, to) // Tableau
}

// findMailgunKey finds a Mailgun key: 32, 8 and 8 hexadecimal digits. s[i] is the first dash.
func (sc *scanner) findMailgunKey(i int) (from, to int) {
	s := sc.s
	to = min(i+18, len(s))
	from = sc.skipBackBounded(i, "x", 32, 32)
	isKey := endOfRun(s[:to], i+1, "x") == i+9 && s[i+9] == '-' && endOfRun(s[:to], i+10, "x") == i+18
	return spanIf(from < i && isKey && (to == len(s) || !isAlnum(s[to])), from, to)
}

// skipBackBounded goes back from s[i] over the characters of the classes, but not into an escape. It
// returns i if their number is not between least and most.
func (sc *scanner) skipBackBounded(i int, classes string, least, most int) int {
	from := sc.skipBack(i, classes, most)
	if i-from >= least && (from == sc.done || !inClass(sc.s[from-1], classes)) {
		return from
	}
	for n := most; n >= least; n-- { // what is before the word may be an escape such as \n
		if at := i - n; at >= from && sc.beginsWord(at) {
			return at
		}
	}
	return i
}

// skipBack goes back from s[i] over characters of the classes, at most most of them.
func (sc *scanner) skipBack(i int, classes string, most int) int {
	for n := i; i > sc.done && n-i < most && inClass(sc.s[i-1], classes); i-- {
	}
	return i
}
