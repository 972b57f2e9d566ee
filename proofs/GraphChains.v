(** Chains of witnesses: the climb of a check comes through exactly where a dataset is held ([climb_keeps], [climb_succeeds]),
    and the loop over all datasets exactly where all are, or always say the truth ([loop_iff]). *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz String List Bool.
From Duotone Require Import Step Graph Table LineCheck LineCertificate GraphCheck GraphCertificate Balanced.
From Duotone Require Import Rounding GraphRight GraphFixed.
Import ListNotations.
Open Scope R_scope.

Section Complete.
Variables (one : Z) (y above d : Q) (P A : privacy) (c : certificate).
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d).
Hypotheses (ratio_A : ratio A = Q2R above) (delta_A : delta A = Q2R d).
Hypotheses (one_positive : (0 < one)%Z) (parts_enough : (LOSS | one)%Z).

Notation down := (rounded_down one).
Notation up := (rounded_up one).
Notation part := (part one).

Let node_of := by_name (nodes c).
Let beside := join_all (edges c).
Let fixed := fix_all c node_of.
Let paths := by_name (lowered c).
Notation balanced := (fun _ => balanced_top one above d).
Notation tops_of_fixed := (fixed_tops one (allowed one y d) balanced (step_down one y d) c beside fixed paths).

Hypothesis edges_known : forall a b, In (a, b) (edges c) -> a <> b /\ known c a <> None /\ known c b <> None.
Hypothesis in_range : forall n v, In (n, v) (nodes c) -> (0 <= says_truth v <= one)%Z.

Let joined_near a b : joined beside a b = true <-> @near (graph_of c) a b := joined_near c a b.
Let fixed_iff n v : Names.find n fixed = Some v <-> known c n = Some v /\ is_fixed c n := fixed_iff c edges_known n v.
Let known_range n v : known c n = Some v -> (0 <= says_truth v <= one)%Z.
Proof. intros K. apply find_by_name in K. eapply in_range, K. Qed.

(** ** Chains of witnesses *)

Notation held := (held one P A c).

Lemma fixed_right_once n t top top' : fixed_right one P A c n t top -> fixed_right one P A c n t top' -> top = top'.
Proof.
  intros (b & h & V & _ & H & _) (b' & h' & V' & _ & H' & _). replace b' with b in * by congruence.
  destruct b; [| |tauto]; eapply (up_once one one_positive); [apply H | apply H' | apply H | apply H'].
Qed.

(** A dataset has one bound, after one number of witnesses. *)
Lemma held_once k n top : held k n top -> forall k' top', held k' n top' -> k = k' /\ top = top'.
Proof.
  induction 1 as [n v top K F R | n v w u m s top L C F V D U | k n v w u below top L C H IH U];
    intros k' top' X;
    inversion X as [n' v' top2 K' F' R' | n' v' w' u' m' s' top2 L' C' F' V' D' U' | k2 n' v' w' u' below' top2 L' C' H' U'];
    subst; try (destruct L as (Kn & Kw & NF & _ & W & _)); try (destruct L' as (Kn' & Kw' & NF' & _ & W' & _));
      try contradiction.
  - split; [reflexivity|]. replace v' with v in * by congruence. eapply fixed_right_once; eassumption.
  - replace v' with v in * by congruence. replace w' with w in * by congruence. replace m' with m in * by congruence.
    rewrite (down_once one one_positive _ _ _ D' D) in U'.
    split; [reflexivity | eapply (up_once one one_positive); eassumption].
  - replace v' with v in * by congruence. replace w' with w in * by congruence. replace u' with u in * by congruence.
    contradiction.
  - replace v' with v in * by congruence. replace w' with w in * by congruence. replace u' with u in * by congruence.
    contradiction.
  - replace v' with v in * by congruence. replace w' with w in * by congruence. destruct (IH _ _ H') as [-> ->].
    split; [reflexivity | eapply (up_once one one_positive); eassumption].
Qed.

Lemma held_known k n top : held k n top -> exists v, known c n = Some v.
Proof. destruct 1 as [n v | n v w u m s top L | k n v w u below top L]; try (destruct L as [? _]); eauto. Qed.

(** So a chain comes to no dataset twice, and is not longer than there are datasets. *)
Lemma held_chain k n top : held k n top -> exists l, List.length l = S k /\ NoDup l /\
  forall m, In m l -> exists j t, (j <= k)%nat /\ held j m t.
Proof.
  assert (Z : forall n top, held 0 n top -> exists l, List.length l = 1%nat /\ NoDup l /\
    forall m, In m l -> exists j t, (j <= 0)%nat /\ held j m t).
  { intros m t H. exists [m]. split; [reflexivity|]. split; [constructor; [intros [] | constructor]|].
    intros x [<- | []]. exists 0%nat, t. auto. }
  induction 1 as [n v top K F R | n v w u m s top L C F V D U | k n v w u below top L C H IH U].
  - apply (Z n top). eapply held_fixed; eassumption.
  - apply (Z n top). eapply held_across; eassumption.
  - assert (N : held (S k) n top) by (eapply held_within; eassumption).
    destruct IH as (l & Len & D & J). exists (n :: l). split; [simpl; congruence|]. split.
    + constructor; [|exact D]. intros I. destruct (J n I) as (j & t & B & Hj). destruct (held_once _ _ _ N _ _ Hj). lia.
    + intros m [<- | I]; [exists (S k), top; auto|]. destruct (J m I) as (j & t & B & Hj). exists j, t. auto.
Qed.

Lemma held_short k n top : held k n top -> (k < List.length (nodes c))%nat.
Proof.
  intros H. destruct (held_chain _ _ _ H) as (l & Len & D & J).
  enough (List.length l <= List.length (map fst (nodes c)))%nat by (rewrite map_length in *; lia).
  apply NoDup_incl_length; [exact D|]. intros m I. destruct (J m I) as (j & t & _ & Hj).
    destruct (held_known _ _ _ Hj) as [v K].
  apply find_by_name in K. apply in_map_iff. exists (m, v); auto.
Qed.

(** ** The climb *)

(** Bounds that are kept: of datasets that are held, all fixed ones among them. *)
Definition kept tops := (forall n top, Names.find n tops = Some top -> exists k, held k n top) /\
                        forall n v, known c n = Some v -> is_fixed c n -> Names.find n tops <> None.

Let climb := climb one (allowed one y d) (ceiling one above d) c node_of beside fixed.

(** What [climb] asks of a dataset and its witness. *)
Lemma leans_iff n v w u top : known c n = Some v -> known c w = Some u -> ~ is_fixed c n ->
  says_truth v <> one -> from v = Some w ->
  (joined beside n w = true /\ tight one (allowed one y d) (says_truth v) (says one u (is_blue v)) = true /\
   close one top (says_truth v) = true <->
   leans one P c n v w u top).
Proof.
  intros Kn Kw F O W. pose proof (known_range _ _ Kn) as Rn. pose proof (known_range _ _ Kw) as Rw.
  assert (Rs : (0 <= says one u (is_blue v) <= one)%Z) by (unfold says; destruct (eqb _ _); lia).
  rewrite joined_near, (tight_down one one_positive y d P), close_iff by assumption. unfold leans. tauto.
Qed.

(** What a climb keeps is held, and the dataset where it began is so, or always says the truth. *)
Lemma climb_keeps fuel tops n tops' : kept tops -> climb fuel tops n = Some tops' ->
  kept tops' /\ (Names.find n tops' <> None \/ exists v, known c n = Some v /\ says_truth v = one).
Proof.
  revert n tops'; induction fuel as [| fuel IH]; intros n tops' I; unfold climb; cbn [GraphCheck.climb];
    rewrite Facts.mem_find_b;
    destruct (Names.find n tops) as [t|] eqn:T; try (intros [= <-]; split; [exact I | left; congruence]).
  { destruct (Names.find n node_of); discriminate. }
  destruct (Names.find n node_of) as [v|] eqn:K; [|discriminate].
  assert (F : ~ is_fixed c n) by (intros F; apply (proj2 I n v K F), T).
  destruct (Z.eqb_spec (says_truth v) one) as [O | O]; [intros [= <-]; split; [exact I | right; exists v; auto]|].
  destruct (from v) as [w|] eqn:W; [|discriminate]. destruct (Names.find w node_of) as [u|] eqn:Kw; [|discriminate].
  destruct (_ && _) eqn:B; [|discriminate]. rewrite !andb_true_iff in B. destruct B as [[J Cf] Tt].
  fold climb. destruct (climb fuel tops w) as [tops1|] eqn:R; [|discriminate]. destruct (IH _ _ I R) as [I1 _].
  destruct (if eqb _ _ then _ else _) as [top|] eqn:H; [|discriminate].
  destruct (close one (ceiling one above d top) (says_truth v)) eqn:C; [|discriminate]. intros [= <-].
  assert (L : leans one P c n v w u (ceiling one above d top)) by (apply leans_iff; auto).
  split; [|left; rewrite find_add, String.eqb_refl; congruence]. split.
  - intros n' t'. rewrite find_add. destruct (String.eqb_spec n n') as [<- | _]; [intros [= <-] | apply I1].
    destruct (eqb (is_blue u) (is_blue v)) eqn:E.
    + apply eqb_prop in E. destruct (proj1 I1 _ _ H) as [k Hk]. exists (S k).
      eapply held_within; [exact L | exact E | exact Hk | apply ceiling_is; assumption].
    + apply eqb_false_iff in E. simpl in Cf. rewrite mem_iff in Cf.
      destruct (Names.find w fixed) as [u'|] eqn:Fw; [|congruence].
      apply fixed_iff in Fw. destruct (value_of c w) as [[| m |]|] eqn:V; try discriminate. injection H as <-. exists 0%nat.
      eapply held_across; [exact L | exact E | apply Fw | exact V | apply floor_is; assumption|].
      rewrite part_no by assumption. apply ceiling_is; assumption.
  - intros n' v' K' F'. rewrite find_add. destruct (String.eqb n n'); [congruence | eapply (proj2 I1); eassumption].
Qed.

(** From a dataset that is held, with fuel enough, the climb succeeds. *)
Lemma climb_succeeds k n top : held k n top -> forall fuel tops, (k < fuel)%nat -> kept tops ->
  exists tops', climb fuel tops n = Some tops' /\ Names.find n tops' = Some top.
Proof.
  assert (Found : forall fuel tops k n top, kept tops -> held k n top -> Names.find n tops <> None ->
    exists tops', climb fuel tops n = Some tops' /\ Names.find n tops' = Some top).
  { intros fuel tops k' n' t' I H N. exists tops. split.
    - unfold climb. destruct fuel; cbn [GraphCheck.climb]; rewrite (proj2 (mem_iff _ _) N); reflexivity.
    - destruct (Names.find n' tops) as [t|] eqn:T; [|congruence]. destruct (proj1 I _ _ T) as [j Hj].
      destruct (held_once _ _ _ H _ _ Hj). congruence. }
  induction 1 as [n v top K F R | n v w u m s top L C F V D U | k n v w u below top L C H IH U]; intros fuel tops B I.
  - eapply Found; [exact I | eapply held_fixed; eassumption | eapply (proj2 I); eassumption].
  - destruct (Names.find n tops) as [t|] eqn:T.
    { eapply Found; [exact I | eapply held_across; eassumption | congruence]. }
    destruct fuel as [| fuel]; [lia|]. pose proof L as (Kn & Kw & NF & O & W & _).
    assert (E : ceiling one above d (one - floor_of one m) = top).
    { eapply (up_once one one_positive); [apply (ceiling_is one one_positive above d A); assumption|].
      rewrite <- part_no, <- (down_once one one_positive _ _ _ D (floor_is one one_positive m)) by assumption. exact U. }
    apply leans_iff in L; auto. destruct L as (J & Tt & Cl).
    assert (Fw : Names.mem w fixed = true) by (apply mem_iff; rewrite (proj2 (fixed_iff w u) (conj Kw F)); congruence).
    assert (Mw : Names.mem w tops = true) by (apply mem_iff; eapply (proj2 I); eassumption).
    apply eqb_false_iff in C. exists (Names.add n top tops). unfold climb; cbn [GraphCheck.climb].
    rewrite Facts.mem_find_b, T. unfold known in Kn, Kw; fold node_of in Kn, Kw. rewrite Kn. apply Z.eqb_neq in O.
    rewrite O, W, Kw.
    rewrite J, Fw, orb_true_r, Tt. cbn [andb].
    replace (GraphCheck.climb one (allowed one y d) (ceiling one above d) c node_of beside fixed fuel tops w) with (Some tops)
      by (destruct fuel; cbn [GraphCheck.climb]; rewrite Mw; reflexivity).
    rewrite C, V, E, Cl. split; [reflexivity|]. rewrite find_add, String.eqb_refl; reflexivity.
  - destruct (Names.find n tops) as [t|] eqn:T.
    { eapply Found; [exact I | eapply held_within; eassumption | congruence]. }
    destruct fuel as [| fuel]; [lia|]. pose proof L as (Kn & Kw & NF & O & W & _).
    destruct (IH fuel tops ltac:(lia) I) as (tops1 & R & Fb).
    assert (E : ceiling one above d below = top).
    { eapply (up_once one one_positive); [apply (ceiling_is one one_positive above d A); assumption | exact U]. }
    apply leans_iff in L; auto. destruct L as (J & Tt & Cl).
    exists (Names.add n top tops1). unfold climb; cbn [GraphCheck.climb].
    rewrite Facts.mem_find_b, T. unfold known in Kn, Kw; fold node_of in Kn, Kw. rewrite Kn. apply Z.eqb_neq in O.
    rewrite O, W, Kw.
    fold climb. rewrite J, C, eqb_reflx, R, Fb, E, Cl. cbn [andb orb]. rewrite <- C at 1. rewrite C, Tt.
    split; [reflexivity|]. rewrite find_add, String.eqb_refl; reflexivity.
Qed.

(** ** The verdict *)

Definition node_right (e : string * node) :=
  honest_claim one (claimed (snd e)) (says_truth (snd e)) /\
  exists v, known c (fst e) = Some v /\ (says_truth v = one \/ exists k top, held k (fst e) top).

Let check := check_node one (allowed one y d) (ceiling one above d) c node_of beside fixed.

Lemma fold_fails l : fold_left check l None = None.
Proof. induction l; simpl; auto. Qed.

Lemma loop_iff l : (forall e, In e l -> In e (nodes c)) -> forall tops, kept tops ->
  (fold_left check l (Some tops) <> None <-> forall e, In e l -> node_right e).
Proof.
  induction l as [| e l IH]; intros Sub tops I; [simpl; split; [tauto | congruence]|].
  change (fold_left check (e :: l) (Some tops)) with (fold_left check l (check (Some tops) e)).
  assert (In e (nodes c)) as Ie by (apply Sub; left; reflexivity). destruct e as [n v0].
  destruct (find_listed _ _ _ Ie) as [v K].
  assert (G : node_right (n, v0) <-> check (Some tops) (n, v0) <> None).
  { unfold node_right, check, check_node; cbn [fst snd]. rewrite <- honest_iff by assumption.
    pose proof (in_range _ _ Ie) as R. rewrite (proj2 (Z.leb_le _ _) (proj1 R)), (proj2 (Z.leb_le _ _) (proj2 R)), !andb_true_r.
    fold climb. destruct (honest _ _ _); [|split; [intros [? _]; discriminate | congruence]]. split.
    - intros (_ & v' & K' & [O | (k & top & H)]).
      + unfold climb; cbn [GraphCheck.climb]. destruct (Names.mem n tops); [congruence|].
        unfold known in K'; fold node_of in K'.
        rewrite K', (proj2 (Z.eqb_eq _ _) O). congruence.
      + destruct (climb_succeeds k n top H (S (List.length (nodes c))) tops) as (tops' & -> & _);
          [pose proof (held_short _ _ _ H); lia | exact I | congruence].
    - intros C. split; [reflexivity|]. exists v. split; [exact K|]. destruct (climb _ tops n) as [tops'|] eqn:E; [|congruence].
      destruct (climb_keeps _ _ _ _ I E) as [I' [F | (v' & K' & O)]].
      + right. destruct (Names.find n tops') as [top|] eqn:T; [|congruence]. destruct (proj1 I' _ _ T) as [k H]. eauto.
      + left. unfold known in *. congruence. }
  destruct (check (Some tops) (n, v0)) as [tops'|] eqn:C.
  - assert (I' : kept tops').
    { unfold check, check_node in C. destruct (_ && _) in C; [|discriminate]. eapply climb_keeps; [exact I | exact C]. }
    rewrite (IH ltac:(intros; apply Sub; right; assumption) tops' I'). split.
    + intros H e [<- | Il]; [apply G; congruence | auto].
    + intros H e Il; apply H; right; exact Il.
  - rewrite fold_fails. split; [congruence|]. intros H. exfalso. apply (proj1 G); [apply H; left; reflexivity | reflexivity].
Qed.

(** The bounds that the loop begins with. *)
Lemma start_kept start : tops_of_fixed = Some start -> kept start.
Proof.
  intros S.
  pose proof (fixed_tops_iff one y above d P A c ratio_P delta_P ratio_A delta_A one_positive parts_enough edges_known in_range)
    as F.
  fold node_of beside paths fixed in F. rewrite S in F. split; [|apply F].
  intros n top T. apply F in T as (v & K & X & R). exists 0%nat. eapply held_fixed; eassumption.
Qed.

(** All of it together. *)
Lemma loops_iff : fold_left check (nodes c) tops_of_fixed <> None <->
  (forall n v, known c n = Some v -> is_fixed c n -> exists top, fixed_right one P A c n (says_truth v) top) /\
  (forall e, In e (nodes c) -> node_right e).
Proof.
  pose proof (fixed_tops_iff one y above d P A c ratio_P delta_P ratio_A delta_A one_positive parts_enough edges_known in_range)
    as F.
  fold node_of beside paths fixed in F. destruct (fixed_tops _ _ _ _ _ _ _ _) as [start|] eqn:S.
  - rewrite (loop_iff (nodes c) (fun e I => I) start (start_kept start S)). destruct F as [F G].
    split; [|tauto]. intros H. split; [|exact H]. intros n v K X. specialize (G n v K X).
    destruct (Names.find n start) as [top|] eqn:T; [|congruence]. apply F in T as (v' & K' & _ & R).
    exists top. replace v with v' by congruence. exact R.
  - rewrite fold_fails. destruct F as (n & v & K & X & N). split; [congruence|]. intros [H _].
    destruct (H n v K X) as [top R]. exfalso. exact (N top R).
Qed.

End Complete.
