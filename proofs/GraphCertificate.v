(** What [check_nodes] accepts is private, and no private mechanism with the same boundary values is right more often at any
    dataset, by 2^-60 or more: every entry hangs by tight steps on a fixed value, and the same steps bound everybody else. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz String List Bool FMapFacts.
From Duotone Require Import Step Graph Table LineCheck LineCertificate GraphCheck.
Import ListNotations.
Open Scope R_scope.

Module Facts := FMapFacts.Facts Names.

(** ** Lookups mean what they should *)

Lemma find_add {A} (m : Names.t A) k v n :
  Names.find n (Names.add k v m) = if String.eqb k n then Some v else Names.find n m.
Proof.
  rewrite Facts.add_o. destruct (Names.E.eq_dec k n) as [E | E]; destruct (String.eqb_spec k n) as [F | F]; congruence.
Qed.

Lemma find_by_name {A} (l : list (string * A)) n v : Names.find n (by_name l) = Some v -> In (n, v) l.
Proof.
  induction l as [| [k u] l IH]; simpl; [rewrite Facts.empty_o; discriminate|].
  rewrite find_add. destruct (String.eqb_spec k n) as [-> | _]; [intros [= ->]; left; reflexivity | auto].
Qed.

Lemma find_element {A} (m : Names.t A) n v : In (n, v) (Names.elements m) -> Names.find n m = Some v.
Proof.
  intros I. apply Facts.find_mapsto_iff, Facts.elements_mapsto_iff. revert I.
  induction (Names.elements m) as [| e l IH]; simpl; [tauto|].
  intros [-> | I]; [left; split; reflexivity | right; auto].
Qed.

Lemma joined_join m a b x z :
  joined (join a b m) x z = true <-> (x = a /\ z = b) \/ joined m x z = true.
Proof.
  unfold joined, join. rewrite find_add. destruct (String.eqb_spec a x) as [-> | N].
  - rewrite Facts.mem_find_b, find_add. destruct (String.eqb_spec b z) as [-> | M]; [intuition|].
    destruct (Names.find x m) as [s|].
    + rewrite Facts.mem_find_b. intuition congruence.
    + rewrite Facts.empty_o. intuition congruence.
  - intuition congruence.
Qed.

Lemma joined_iff edges a b : joined (join_all edges) a b = true <-> In (a, b) edges \/ In (b, a) edges.
Proof.
  induction edges as [| [x z] edges IH]; simpl.
  - unfold joined; rewrite Facts.empty_o. intuition discriminate.
  - rewrite !joined_join, IH. intuition (try congruence); inversion H0; subst; auto.
Qed.

(** ** The graph and the mechanism that a certificate describes *)

(** Datasets are all names; those that are not listed have no neighbours. *)
Definition known c n := Names.find n (by_name (nodes c)).
Program Definition graph_of c : graph :=
  {| dataset := string;
     near a b := In (a, b) (edges c) \/ In (b, a) (edges c);
     blue n := match known c n with Some v => is_blue v | None => false end |}.
Next Obligation.
Proof. tauto. Qed.

Definition table_of one c : mechanism (graph_of c) := fun n =>
  match known c n with Some v => part one (says one v true) | None => 0 end.

(** What was asked of the boundary; a balanced value is at most what is private beside its opposite ([balanced_asked]). *)
Definition is_fixed c (n : graph_of c) := blue_boundary n \/ (both c = true /\ red_boundary n).
Definition asked_of (P : closeness) c (N : mechanism (graph_of c)) := forall n b, is_fixed c n -> value_of c n = Some b ->
  match b with Value m => truth N n = Q2R m | _ => truth N n <= step P (1 - truth N n) end.

(** Towards the answer of a colour, a private mechanism moves by private steps. *)
Definition toward {G} (N : mechanism G) (c : bool) a := if c then N a else 1 - N a.

Lemma toward_step P {G} (N : mechanism G) c a b : private P N -> near a b -> toward N c b <= step P (toward N c a).
Proof.
  intros H E; destruct c; simpl; [|apply (private_dual P) in H]; rewrite private_steps in H; apply H, E.
Qed.

Lemma toward_probability P {G} (N : mechanism G) c a : private P N -> probability (toward N c a).
Proof. intros [H _]; destruct (H a), c; simpl; split; lra. Qed.

(** Where both boundaries say the truth equally often, they do so at most as often as is private beside the opposite. *)
Lemma balanced_asked P {G} (N : mechanism G) (a b : G) :
  private P N -> near a b -> blue a <> blue b -> truth N a = truth N b -> truth N a <= step P (1 - truth N a).
Proof.
  intros H E C T. pose proof (toward_step P N (blue a) b a H (near_symmetric E)) as S.
  replace (toward N (blue a) a) with (truth N a) in S by reflexivity.
  replace (toward N (blue a) b) with (1 - truth N b) in S
    by (unfold toward, truth; destruct (blue a), (blue b); congruence || lra).
  rewrite <- T in S. exact S.
Qed.

Lemma fixed_is c n v : Names.find n (fix_all c (by_name (nodes c))) = Some v ->
  known c n = Some v /\ is_fixed c (n : graph_of c).
Proof.
  unfold fix_all, known. set (m0 := by_name (nodes c)).
  assert (K : forall l, (forall e, In e l -> In e (edges c)) ->
    Names.find n (fold_right (fix_ends c m0) (Names.empty node) l) = Some v ->
    Names.find n m0 = Some v /\ is_fixed c (n : graph_of c)); [|apply K; auto].
  induction l as [| [a b] l IH]; simpl; intros I; [rewrite Facts.empty_o; discriminate|].
  assert (E : In (a, b) (edges c)) by auto. assert (I' : forall e, In e l -> In e (edges c)) by auto.
  unfold fix_ends at 1; simpl. destruct (Names.find a m0) as [u|] eqn:A; [|auto].
  destruct (Names.find b m0) as [w|] eqn:B; [|auto].
  destruct (eqb (is_blue u) (is_blue w)) eqn:C; [auto|]. apply eqb_false_iff in C.
  assert (Fa : both c || is_blue u = true -> is_fixed c (a : graph_of c)).
  { intros X. unfold is_fixed, blue_boundary, red_boundary; simpl. unfold known; fold m0. rewrite A.
    destruct (is_blue u) eqn:U; [left | right; rewrite orb_false_r in X; split; [exact X|]]; (split; [reflexivity|]);
      exists b; rewrite B; split; auto; destruct (is_blue w); congruence. }
  assert (Fb : both c || is_blue w = true -> is_fixed c (b : graph_of c)).
  { intros X. unfold is_fixed, blue_boundary, red_boundary; simpl. unfold known; fold m0. rewrite B.
    destruct (is_blue w) eqn:U; [left | right; rewrite orb_false_r in X; split; [exact X|]]; (split; [reflexivity|]);
      exists a; rewrite A; split; auto; destruct (is_blue u); congruence. }
  destruct (both c || is_blue w) eqn:W; destruct (both c || is_blue u) eqn:U; rewrite ?find_add;
    repeat match goal with |- context [String.eqb ?x ?z] => destruct (String.eqb_spec x z) as [-> | _] end;
    try (intros [= ->]; auto); auto.
Qed.

Section Sound.
Variables (one : Z) (may : Z -> Z -> bool) (rise balanced down : Z -> Z) (size : Z) (P : closeness) (c : certificate).
Hypothesis one_positive : (0 < one)%Z.
Hypothesis may_sound : forall p q, (0 <= p <= one)%Z -> (0 <= q <= one)%Z -> may p q = true ->
  part one p <= step P (part one q) /\ part one q <= step P (part one p).
Hypothesis rise_sound : forall x top, probability x -> x <= part one top -> step P x <= part one (rise top).
Hypothesis balanced_sound : forall t x, best_balanced one may t = true ->
  probability x -> x <= step P (1 - x) -> x <= part one (balanced t).
Hypothesis accepted : check_nodes one may rise balanced down size c = true.

Let node_of := by_name (nodes c).
Let beside := join_all (edges c).
Let fixed := fix_all c node_of.
Let check := check_node one may rise c node_of beside fixed.

Lemma fold_fails l : fold_left check l None = None.
Proof. induction l; simpl; auto. Qed.

(** Every dataset passed its check, from some bounds on. *)
Lemma passed l start result : fold_left check l start = Some result -> forall e, In e l ->
  exists before, check before e <> None /\ exists l', fold_left check l' start = before.
Proof.
  revert start; induction l as [| x l IH]; simpl; intros start H e; [tauto|]. intros [<- | I].
  - exists start; split; [intros E; rewrite E, fold_fails in H; discriminate | exists []; reflexivity].
  - destruct (IH _ H e I) as (before & B & l' & L). exists before; split; [exact B | exists (x :: l'); exact L].
Qed.

Lemma accepted_parts :
  forallb (edge_private one may node_of) (edges c) = true /\
  exists start result, fixed_tops one may balanced down c beside fixed (by_name (lowered c)) = Some start /\
                       fold_left check (nodes c) (Some start) = Some result.
Proof.
  pose proof accepted as H. unfold check_nodes in H. rewrite !andb_true_iff in H. destruct H as [[[_ H] _] F].
  fold node_of in H, F. fold beside in F. fold fixed in F. fold check in F. split; [exact H|].
  destruct (fixed_tops _ _ _ _ _ _ _ _) as [start|]; [|rewrite fold_fails in F; discriminate].
  destruct (fold_left check (nodes c) (Some start)) as [result|] eqn:E; [|discriminate]. exists start, result; auto.
Qed.

Lemma in_the_range n v : known c n = Some v -> (0 <= says_truth v <= one)%Z.
Proof.
  intros K; apply find_by_name in K. destruct accepted_parts as (_ & start & result & _ & F).
  destruct (passed _ _ _ F _ K) as (before & B & _). unfold check, check_node in B. destruct before; [|congruence]. simpl in B.
  destruct (honest _ _ _), (Z.leb_spec 0 (says_truth v)), (Z.leb_spec (says_truth v) one); simpl in B; lia || congruence.
Qed.

Lemma says_range n v colour : known c n = Some v -> (0 <= says one v colour <= one)%Z.
Proof. intros K; pose proof (in_the_range n v K); unfold says; destruct eqb; lia. Qed.

Theorem nodes_private : private P (table_of one c).
Proof.
  apply private_steps; split.
  - intros n; unfold table_of. destruct (known c n) as [v|] eqn:K; [|split; lra].
    apply part_probability; [assumption | eapply says_range, K].
  - destruct accepted_parts as [E _]. rewrite forallb_forall in E. intros a b H. simpl in H.
    assert (X : forall p q, In (p, q) (edges c) -> table_of one c p <= step P (table_of one c q) /\
                                                   table_of one c q <= step P (table_of one c p)).
    { intros p q I. specialize (E _ I). unfold edge_private in E; simpl in E. unfold table_of, known. fold node_of.
      destruct (Names.find p node_of) as [v|] eqn:Kp; [|discriminate].
      destruct (Names.find q node_of) as [u|] eqn:Kq; [|discriminate].
      rewrite andb_true_iff in E. destruct E as [_ E].
      apply may_sound; try assumption; eapply says_range; unfold known; fold node_of; eassumption. }
    destruct H as [H | H]; apply X in H; apply H.
Qed.

(** A bound on everybody, near the table's own entry. *)
Definition bounds n top := (forall N, private P N -> asked_of P c N -> truth N n <= part one top) /\
                           forall v, known c n = Some v -> close one top (says_truth v) = true.
Definition sound tops := forall n top, Names.find n tops = Some top -> bounds n top.

Lemma sound_add tops n top : sound tops -> bounds n top -> sound (Names.add n top tops).
Proof.
  intros S B m t. rewrite find_add. destruct (String.eqb_spec n m) as [<- | _]; [intros [= <-]; exact B | apply S].
Qed.

Lemma fixed_bounds n v top : known c n = Some v -> is_fixed c n ->
  fixed_top one may balanced down c beside (by_name (lowered c)) n v = Some top -> bounds n top.
Proof.
  unfold fixed_top, fixed_value. intros K F. destruct (value_of c n) as [b|] eqn:V; [|discriminate].
  destruct (held _ _ _ _ _ _) as [h|]; [|discriminate].
  destruct b as [| m |]; [| |discriminate]; destruct (_ && _) eqn:E; try discriminate; intros [= <-];
    rewrite !andb_true_iff in E.
  - split; [|intros w Kw; replace w with v by congruence; apply E].
    intros N HN A. specialize (A n Balanced F V). simpl in A. apply balanced_sound; [apply E | | exact A].
    destruct (proj1 HN n). unfold truth. destruct (blue _); split; lra.
  - split; [|intros w Kw; replace w with v by congruence; apply E].
    intros N HN A. specialize (A n (Value m) F V). simpl in A. rewrite A. apply part_up; assumption.
Qed.

Lemma fixed_tops_sound start :
  fixed_tops one may balanced down c beside fixed (by_name (lowered c)) = Some start -> sound start.
Proof.
  unfold fixed_tops.
  assert (E : forall e, In e (Names.elements fixed) -> known c (fst e) = Some (snd e) /\ is_fixed c (fst e : graph_of c)).
  { intros [n v] I. apply fixed_is, find_element, I. }
  revert start. induction (Names.elements fixed) as [| [n v] l IH]; simpl; intros start.
  - intros [= <-] n top. rewrite Facts.empty_o. discriminate.
  - destruct (fold_right _ _ l) as [tops|]; [|discriminate].
    destruct (fixed_top _ _ _ _ _ _ _ n v) as [top|] eqn:T; [|discriminate].
    intros [= <-]. destruct (E (n, v)) as [K F]; [left; reflexivity|]. simpl in *.
    apply sound_add; [apply IH; auto | eapply fixed_bounds; eassumption].
Qed.

Lemma climb_sound fuel tops n tops' : climb one may rise c node_of beside fixed fuel tops n = Some tops' -> sound tops ->
  sound tops' /\ forall v, known c n = Some v -> says_truth v = one \/ exists top, Names.find n tops' = Some top.
Proof.
  revert tops n tops'; induction fuel as [| fuel IH]; intros tops n tops'; simpl;
    rewrite Facts.mem_find_b; destruct (Names.find n tops) as [top|] eqn:T;
    try (intros [= <-] S; split; [exact S | intros; right; exists top; exact T]).
  { destruct (Names.find n node_of); discriminate. }
  destruct (Names.find n node_of) as [v|] eqn:K; [|discriminate].
  destruct (Z.eqb_spec (says_truth v) one) as [E | NE].
  { intros [= <-] S; split; [exact S|]. intros w Kw. unfold known in Kw; fold node_of in Kw. left; congruence. }
  destruct (from v) as [w|]; [|discriminate]. destruct (Names.find w node_of) as [u|] eqn:Kw; [|discriminate].
  destruct (_ && _) eqn:B; [|discriminate]. rewrite !andb_true_iff in B. destruct B as [[J F] _].
  destruct (climb _ _ _ _ _ _ _ fuel tops w) as [tops1|] eqn:R; [|discriminate].
  destruct (if eqb _ _ then _ else _) as [top|] eqn:H; [|discriminate].
  destruct (close one (rise top) (says_truth v)) eqn:C; [|discriminate]. intros [= <-] S.
  destruct (IH _ _ _ R S) as [S1 _]. split; [|intros; right; rewrite find_add, String.eqb_refl; eauto].
  apply sound_add; [exact S1|].
  split; [|intros v' Kv; unfold known in Kv; fold node_of in Kv; replace v' with v by congruence; exact C].
  intros N HN A. apply joined_iff in J.
  assert (Hn : blue (n : graph_of c) = is_blue v) by (simpl; unfold known; fold node_of; rewrite K; reflexivity).
  assert (Hw : blue (w : graph_of c) = is_blue u) by (simpl; unfold known; fold node_of; rewrite Kw; reflexivity).
  assert (E : near (w : graph_of c) n) by (simpl; tauto).
  pose proof (toward_step P N (is_blue v) w n HN E) as St.
  replace (truth N n) with (toward N (is_blue v) n) by (unfold truth; rewrite Hn; reflexivity).
  eapply Rle_trans; [exact St|]. apply rise_sound; [eapply toward_probability, HN|].
  destruct (eqb (is_blue u) (is_blue v)) eqn:Same.
  - apply eqb_prop in Same. replace (toward N (is_blue v) w) with (truth N w) by (unfold truth; rewrite Hw, Same; reflexivity).
    apply (S1 w top H); assumption.
  - apply eqb_false_iff in Same. destruct (value_of c w) as [[| m |]|] eqn:V; try discriminate. injection H as <-.
    simpl in F. rewrite Facts.mem_find_b in F. destruct (Names.find w fixed) as [u'|] eqn:Fw; [|discriminate].
    destruct (fixed_is c w u' Fw) as [_ Fx]. specialize (A w (Value m) Fx V). simpl in A.
    replace (toward N (is_blue v) w) with (1 - truth N w)
      by (unfold truth, toward; rewrite Hw; destruct (is_blue u), (is_blue v); congruence || lra).
    rewrite A, <- part_no by assumption. pose proof (part_down one one_positive m). lra.
Qed.

Lemma loop_sound start l : sound start -> forall result, fold_left check l (Some start) = Some result -> sound result.
Proof.
  revert start; induction l as [| e l IH]; intros start S result; [intros [= <-]; exact S|].
  change (fold_left check (e :: l) (Some start)) with (fold_left check l (check (Some start) e)).
  destruct (check (Some start) e) as [next|] eqn:C; [|rewrite fold_fails; discriminate].
  apply IH. unfold check, check_node in C. destruct (_ && _) in C; [|discriminate]. eapply climb_sound; eassumption.
Qed.

Theorem nodes_optimal N : private P N -> asked_of P c N -> forall n, truth N n < truth (table_of one c) n + / 2 ^ 60.
Proof.
  intros HN A n. assert (Tiny : 0 < / 2 ^ 60) by (apply Rinv_0_lt_compat, pow_lt; lra).
  pose proof (toward_probability P N (blue n) n HN) as [_ Most].
  replace (toward N (blue n) n) with (truth N n) in Most by reflexivity.
  assert (One : 0 < IZR one) by (apply IZR_lt; assumption).
  unfold truth at 2; unfold table_of; simpl. destruct (known c n) as [v|] eqn:K; [|lra].
  replace (if is_blue v then part one (says one v true) else 1 - part one (says one v true)) with (part one (says_truth v)).
  2:{ unfold says; destruct (is_blue v); simpl; [reflexivity|]. rewrite part_no by assumption. f_equal; lia. }
  destruct accepted_parts as (_ & start & result & T & F). apply fixed_tops_sound in T.
  apply find_by_name in K as I. destruct (passed _ _ _ F _ I) as (before & B & l' & L).
  destruct before as [tops|]; [|unfold check, check_node in B; congruence]. pose proof (loop_sound _ _ T _ L) as St.
  unfold check, check_node in B. cbn [fst snd] in B. destruct (_ && _) eqn:Hon in B; [|congruence].
  destruct (climb _ _ _ _ _ _ _ _ _ _) as [tops'|] eqn:C; [|congruence].
  destruct (climb_sound _ _ _ _ C St) as [S' H]. destruct (H v K) as [-> | [top Ht]].
  - unfold part. replace (IZR one / IZR one) with 1 by (field; lra). lra.
  - destruct (S' _ _ Ht) as [Bound Near]. eapply close_sound; [assumption | apply Near, K | apply Bound; assumption].
Qed.

End Sound.

(** Definition 1. *)
Section Approximate.
Variables (one : Z) (y above d : Q) (P : privacy) (c : certificate).
Hypothesis one_positive : (0 < one)%Z.
Hypothesis ratio_between : 0 <= Q2R y <= ratio P /\ ratio P <= Q2R above.
Hypothesis delta_is : delta P = Q2R d.
Hypothesis accepted : check_graph one y above d c = true.

Theorem check_graph_private : private P (table_of one c).
Proof. eapply nodes_private; try eassumption. intros p q. apply allowed_sound; tauto. Qed.

Theorem check_graph_optimal N : private P N -> asked_of P c N -> forall n, truth N n < truth (table_of one c) n + / 2 ^ 60.
Proof.
  eapply nodes_optimal; try eassumption.
  - intros x top. apply ceiling_sound; tauto.
  - intros t x _. apply balanced_bound; tauto.
Qed.

End Approximate.
